/* ranks: 1 2 3 */
/* MPI 5.0 section 3.10 (since 4.0): MPI_Isendrecv and MPI_Isendrecv_replace are the nonblocking forms: each starts a
 * send and a receive that one request completes. Two of them are in flight around a ring, in both directions. */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int next = (world_rank + 1) % world_size, previous = (world_rank + world_size - 1) % world_size;
    int out = world_rank, in = -1, turned = 10 + world_rank;
    MPI_Request requests[2];
    CHECK_CALL(MPI_Isendrecv(&out, 1, MPI_INT, next, 1, &in, 1, MPI_INT, previous, 1, MPI_COMM_WORLD, &requests[0]));
    CHECK_CALL(MPI_Isendrecv_replace(&turned, 1, MPI_INT, previous, 2, next, 2, MPI_COMM_WORLD, &requests[1]));
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK_INT(in, previous);
    CHECK_INT(turned, 10 + next);
    return finish();
}
