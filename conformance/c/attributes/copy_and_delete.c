/* ranks: 1 2 */
/* MPI 5.0 section 7.7: on MPI_Comm_dup the copy function decides whether the attribute goes along and with what value;
 * the delete function runs when the attribute is overwritten, deleted, or its communicator is freed. */
#include "check.h"

static int copies = 0, deletes = 0, last_deleted = -1;

static int copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)keyval;
    copies++;
    CHECK_INT(*(int *)extra, 7);
    *(int **)out = (int *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int forget(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm;
    (void)keyval;
    (void)extra;
    deletes++;
    last_deleted = *(int *)value;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    static int values[3] = {10, 11, 12}, extra = 7;
    int key, silent, flag = -1, *value = NULL;
    MPI_Comm comm, twin;
    start(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    CHECK_CALL(MPI_Comm_create_keyval(copy, forget, &key, &extra));
    CHECK_CALL(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &silent, NULL));
    MPI_Comm_get_attr(comm, key, &value, &flag);
    CHECK_INT(flag, 0);
    MPI_Comm_set_attr(comm, key, &values[0]);
    MPI_Comm_set_attr(comm, silent, &values[2]);
    MPI_Comm_get_attr(comm, key, &value, &flag);
    CHECK_INT(flag, 1);
    CHECK(value == &values[0]);
    MPI_Comm_dup(comm, &twin);
    CHECK_INT(copies, 1);
    MPI_Comm_get_attr(twin, key, &value, &flag);
    CHECK_INT(flag, 1);
    CHECK(value == &values[1]);
    MPI_Comm_get_attr(twin, silent, &value, &flag);
    CHECK_INT(flag, 0);
    MPI_Comm_set_attr(twin, key, &values[2]);
    CHECK_INT(deletes, 1);
    CHECK_INT(last_deleted, 11);
    MPI_Comm_delete_attr(twin, key);
    CHECK_INT(deletes, 2);
    CHECK_INT(last_deleted, 12);
    MPI_Comm_get_attr(twin, key, &value, &flag);
    CHECK_INT(flag, 0);
    MPI_Comm_free(&twin);
    CHECK_INT(deletes, 2);
    /* A freed key lives on in the communicator that still has the attribute. */
    MPI_Comm_free_keyval(&key);
    CHECK_INT(key, MPI_KEYVAL_INVALID);
    MPI_Comm_free(&comm);
    CHECK_INT(deletes, 3);
    CHECK_INT(last_deleted, 10);
    MPI_Comm_free_keyval(&silent);
    return finish();
}
