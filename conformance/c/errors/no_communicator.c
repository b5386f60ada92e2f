/* ranks: 1 */
/* MPI 5.0 section 9.3 (since 4.0): an error of a call that has no communicator, window, file or session is raised on
 * MPI_COMM_SELF, not on MPI_COMM_WORLD, whose handler stays fatal here. */
#include "check.h"

static int calls = 0, code_seen = 0;

static void on_error(MPI_Comm *comm, int *code, ...)
{
    code_seen = *code;
    CHECK(*comm == MPI_COMM_SELF);
    calls++;
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int size;
    start(&argc, &argv);
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Type_size(MPI_DATATYPE_NULL, &size);
    CHECK_INT(calls, 1);
    CHECK_CLASS(code_seen, MPI_ERR_TYPE);
    MPI_Type_contiguous(-1, MPI_INT, &type);
    CHECK_INT(calls, 2);
    CHECK_CLASS(code_seen, MPI_ERR_COUNT);
    MPI_Group_size(MPI_GROUP_NULL, &size);
    CHECK_INT(calls, 3);
    CHECK_CLASS(code_seen, MPI_ERR_GROUP);
    MPI_Errhandler_free(&handler);
    return finish();
}
