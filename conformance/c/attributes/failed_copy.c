/* ranks: 1 2 */
/* MPI 5.0 sections 7.7.2 and 7.7.4: if a copy function returns an error, so does the call that duplicates. What was to
 * be made is not there, so its handle is the null handle, and the original is as it was. */
#include "check.h"

static int copy_comm(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)extra, (void)in, (void)out;
    *flag = 1;
    return MPI_ERR_OTHER;
}

static int copy_type(MPI_Datatype type, int key, void *extra, void *in, void *out, int *flag)
{
    (void)type, (void)key, (void)extra, (void)in, (void)out;
    *flag = 1;
    return MPI_ERR_OTHER;
}

int main(int argc, char **argv)
{
    int key, flag = 0, *value = NULL, attribute = 5, bytes = 0;
    MPI_Comm comm = MPI_COMM_NULL, comm_twin = MPI_COMM_WORLD;
    MPI_Datatype type = MPI_DATATYPE_NULL, type_twin = MPI_INT;
    start(&argc, &argv);
    errors_return();

    CHECK_CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_CALL(MPI_Comm_create_keyval(copy_comm, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    CHECK_CALL(MPI_Comm_set_attr(comm, key, &attribute));
    CHECK(MPI_Comm_dup(comm, &comm_twin) != MPI_SUCCESS);
    CHECK(comm_twin == MPI_COMM_NULL);
    CHECK_CALL(MPI_Comm_get_attr(comm, key, &value, &flag));
    CHECK(flag && value == &attribute);
    CHECK_CALL(MPI_Barrier(comm));
    CHECK_CALL(MPI_Comm_free_keyval(&key));
    CHECK_CALL(MPI_Comm_free(&comm));

    CHECK_CALL(MPI_Type_contiguous(3, MPI_INT, &type));
    CHECK_CALL(MPI_Type_create_keyval(copy_type, MPI_TYPE_NULL_DELETE_FN, &key, NULL));
    CHECK_CALL(MPI_Type_set_attr(type, key, &attribute));
    CHECK(MPI_Type_dup(type, &type_twin) != MPI_SUCCESS);
    CHECK(type_twin == MPI_DATATYPE_NULL);
    CHECK_CALL(MPI_Type_size(type, &bytes));
    CHECK_INT(bytes, 3 * sizeof(int));
    CHECK_CALL(MPI_Type_free_keyval(&key));
    CHECK_CALL(MPI_Type_free(&type));
    return finish();
}
