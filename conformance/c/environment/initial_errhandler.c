/* ranks: 1 2 */
/* options: -initial-errhandler mpi_errors_return */
/* skip-mpich: its launcher does not know the option */
/* MPI 5.0 sections 9.3 and 11.5: -initial-errhandler of mpiexec names the error handler of MPI_COMM_WORLD and
 * MPI_COMM_SELF after initialisation, and the one of errors before it and after MPI_Finalize. What was asked for is
 * the value of mpi_initial_errhandler in MPI_INFO_ENV. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm dup;
    MPI_Comm both[2] = {MPI_COMM_WORLD, MPI_COMM_SELF};
    char value[64] = "";
    int size = sizeof value, flag = 0, rank = -1;

    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS);
    start(&argc, &argv);
    for (int i = 0; i < 2; i++) {
        CHECK_CALL(MPI_Comm_get_errhandler(both[i], &handler));
        CHECK(handler == MPI_ERRORS_RETURN);
        MPI_Errhandler_free(&handler);
    }
    CHECK_CLASS(MPI_Send(&rank, 1, MPI_INT, world_size, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Type_size(MPI_DATATYPE_NULL, &rank), MPI_ERR_TYPE);

    /* What is made from a communicator inherits its handler. */
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    CHECK_CLASS(MPI_Send(&rank, 1, MPI_INT, world_size, 0, dup), MPI_ERR_RANK);
    MPI_Comm_free(&dup);

    CHECK_CALL(MPI_Info_get_string(MPI_INFO_ENV, "mpi_initial_errhandler", &size, value, &flag));
    CHECK_INT(flag, 1);
    CHECK_STRING(value, "mpi_errors_return");

    /* The program may still choose another. */
    CHECK_CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    CHECK_CALL(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler));
    CHECK(handler == MPI_ERRORS_ARE_FATAL);
    MPI_Finalize();
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS);
    return verdict();
}
