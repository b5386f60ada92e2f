/* ranks: 1 */
/* expect: fatal MPI_Send */
/* MPI 5.0 section 9.3: MPI_ERRORS_ABORT ends the processes of the communicator in which the error was raised; with
 * MPI_COMM_SELF that is this one, and a job of one process has then failed. */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ABORT);
    MPI_Send(&world_rank, 1, MPI_INT, 5, 0, MPI_COMM_SELF);
    printf("not-reached\n");
    return finish();
}
