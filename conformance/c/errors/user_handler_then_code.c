/* ranks: 1 */
/* skip-mpich: after a user handler its calls return MPI_SUCCESS, not the code the handler was given (section 9.3.1) */
/* MPI 5.0 section 9.3.1: the second argument of a user handler is the code that the failing routine will return, so
 * once the handler has returned the caller sees that very code, or what the handler has made of it. */
#include "check.h"

static int code_seen = 0;

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    code_seen = *code;
}

static void on_error_forgive(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    *code = MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    start(&argc, &argv);
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    int code = MPI_Send(&code_seen, 1, MPI_INT, world_size, 0, MPI_COMM_WORLD);
    CHECK_CLASS(code, MPI_ERR_RANK);
    CHECK_INT(code, code_seen);
    MPI_Errhandler_free(&handler);
    MPI_Comm_create_errhandler(on_error_forgive, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    CHECK_INT(MPI_Send(&code_seen, 1, MPI_INT, world_size, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    MPI_Errhandler_free(&handler);
    return finish();
}
