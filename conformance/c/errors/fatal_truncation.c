/* ranks: 2 */
/* expect: fatal truncat */
/* MPI 5.0 sections 3.2.4 and 9.3: truncation with the default handler is fatal for the whole job, also for the rank
 * that waits elsewhere. */
#include "check.h"

int main(int argc, char **argv)
{
    int data[8] = {0};
    start(&argc, &argv);
    if (world_rank == 0) {
        MPI_Send(data, 8, MPI_INT, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(data, 8, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(data, 4, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    printf("not-reached\n");
    return finish();
}
