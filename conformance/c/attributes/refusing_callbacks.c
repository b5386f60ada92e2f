/* ranks: 1 */
/* MPI 5.0 section 7.7.2: if a copy or delete callback returns something other than MPI_SUCCESS, the call that invoked
 * it fails: MPI_Comm_dup, and MPI_Comm_delete_attr, after which the attribute is still there. */
#include "check.h"

static int refuse = 1;

static int copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)keyval;
    (void)extra;
    (void)in;
    (void)out;
    *flag = 0;
    return refuse ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int forget(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm;
    (void)keyval;
    (void)value;
    (void)extra;
    return refuse ? MPI_ERR_OTHER : MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int key, flag = -1, data = 0, *value;
    MPI_Comm comm, twin = MPI_COMM_NULL;
    start(&argc, &argv);
    errors_return();
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_create_keyval(copy, forget, &key, NULL);
    MPI_Comm_set_attr(comm, key, &data);
    CHECK(MPI_Comm_dup(comm, &twin) != MPI_SUCCESS);
    CHECK(MPI_Comm_delete_attr(comm, key) != MPI_SUCCESS);
    MPI_Comm_get_attr(comm, key, &value, &flag);
    CHECK_INT(flag, 1);
    refuse = 0;
    CHECK_CALL(MPI_Comm_dup(comm, &twin));
    CHECK_CALL(MPI_Comm_delete_attr(comm, key));
    MPI_Comm_free(&twin);
    MPI_Comm_free(&comm);
    return finish();
}
