/* ranks: 1 2 */
/* MPI 5.0 section 9.3: the handler of the communicator is called with the communicator and the code. New communicators
 * inherit the handler of their parent; freeing the handler's handle does not end its use; get gives it back. */
#include "check.h"

static int calls = 0, code_seen = 0;
static MPI_Comm comm_seen;

static void on_error(MPI_Comm *comm, int *code, ...)
{
    calls++;
    comm_seen = *comm;
    code_seen = *code;
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler, found;
    MPI_Comm comm, child;
    start(&argc, &argv);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &found);
    CHECK(found == MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&found);
    CHECK(found == MPI_ERRHANDLER_NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Comm_get_errhandler(comm, &found);
    CHECK(found == handler);
    MPI_Errhandler_free(&found);
    MPI_Errhandler_free(&handler);
    CHECK(handler == MPI_ERRHANDLER_NULL);
    MPI_Send(&calls, 1, MPI_INT, world_size, 0, comm);
    CHECK_INT(calls, 1);
    CHECK(comm_seen == comm);
    CHECK_CLASS(code_seen, MPI_ERR_RANK);
    MPI_Comm_dup(comm, &child);
    MPI_Send(&calls, -1, MPI_INT, 0, 0, child);
    CHECK_INT(calls, 2);
    CHECK_CLASS(code_seen, MPI_ERR_COUNT);
    CHECK(comm_seen == child);
    MPI_Comm_free(&child);
    MPI_Comm_free(&comm);
    return finish();
}
