/* ranks: 2 4 */
/* expect: fatal root */
/* skip-mpich: it does not notice */
/* MPI 5.0 sections 6.12 and 6.12.2: all processes name the same root in MPI_Ibcast, too, and begin blocking and nonblocking
 * collectives of a communicator in the same order. If each names itself all are senders and none receives; they are
 * told in the next collective, blocking or not. */
#include "check.h"

int main(int argc, char **argv)
{
    int data = 0;
    MPI_Request requests[2];
    start(&argc, &argv);
    data = world_rank;
    MPI_Ibcast(&data, 1, MPI_INT, world_rank, MPI_COMM_WORLD, &requests[0]);
    if (world_size == 2) MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
    else requests[1] = MPI_REQUEST_NULL;
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("not-reached\n");
    return finish();
}
