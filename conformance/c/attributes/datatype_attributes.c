/* ranks: 1 */
/* MPI 5.0 section 7.7.4: datatypes cache attributes too; MPI_Type_dup copies them, MPI_Type_free deletes them. */
#include "check.h"

static int copies = 0, deletes = 0;

static int copy(MPI_Datatype type, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)type;
    (void)keyval;
    (void)extra;
    copies++;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int forget(MPI_Datatype type, int keyval, void *value, void *extra)
{
    (void)type;
    (void)keyval;
    (void)value;
    (void)extra;
    deletes++;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int key, flag = -1, data = 3, *value = NULL;
    MPI_Datatype type, twin;
    start(&argc, &argv);
    MPI_Type_create_keyval(copy, forget, &key, NULL);
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_set_attr(type, key, &data);
    MPI_Type_dup(type, &twin);
    CHECK_INT(copies, 1);
    MPI_Type_get_attr(twin, key, &value, &flag);
    CHECK_INT(flag, 1);
    CHECK(value == &data);
    MPI_Type_delete_attr(twin, key);
    CHECK_INT(deletes, 1);
    MPI_Type_free(&twin);
    CHECK_INT(deletes, 1);
    MPI_Type_free(&type);
    CHECK_INT(deletes, 2);
    /* Predefined types may carry attributes as well. */
    CHECK_CALL(MPI_Type_set_attr(MPI_INT, key, &data));
    MPI_Type_get_attr(MPI_INT, key, &value, &flag);
    CHECK_INT(flag, 1);
    CHECK_CALL(MPI_Type_delete_attr(MPI_INT, key));
    MPI_Type_free_keyval(&key);
    return finish();
}
