/* ranks: 1 2 3 */
/* skip-mpich: it completes MPI_Isendrecv with a status that is not the receive's (section 3.10) */
/* MPI 5.0 section 3.10 (since 4.0): MPI_Isendrecv and MPI_Isendrecv_replace return, once completed, the status of their
 * receive half, as MPI_Sendrecv does. */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int next = (world_rank + 1) % world_size, previous = (world_rank + world_size - 1) % world_size;
    int out = world_rank, in = -1, turned = 10 + world_rank, count = -1;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    CHECK_CALL(MPI_Isendrecv(&out, 1, MPI_INT, next, 1, &in, 1, MPI_INT, previous, 1, MPI_COMM_WORLD, &requests[0]));
    CHECK_CALL(MPI_Isendrecv_replace(&turned, 1, MPI_INT, previous, 2, next, 2, MPI_COMM_WORLD, &requests[1]));
    MPI_Waitall(2, requests, statuses);
    CHECK_INT(statuses[0].MPI_SOURCE, previous);
    CHECK_INT(statuses[0].MPI_TAG, 1);
    CHECK_INT(statuses[1].MPI_SOURCE, next);
    CHECK_INT(statuses[1].MPI_TAG, 2);
    MPI_Get_count(&statuses[1], MPI_INT, &count);
    CHECK_INT(count, 1);
    return finish();
}
