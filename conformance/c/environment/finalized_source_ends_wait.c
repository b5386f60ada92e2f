/* ranks: 2 */
/* skip-mpich: MPICH waits for ever */
/* expect: fatal finalised */
/* MPI 5.0 §11.2.2: a process that has finalised sends nothing any more. A wait for a message that only such a process
 * could send cannot end; OxMPI makes it an error that names the process instead of waiting for ever. */
#include "check.h"

int main(int argc, char **argv)
{
    int word;
    start(&argc, &argv);
    if (world_rank == 0) {
        MPI_Request request;
        MPI_Irecv(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        printf("not-reached\n");
    }
    return finish();
}
