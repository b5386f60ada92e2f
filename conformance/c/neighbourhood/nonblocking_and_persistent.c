/* ranks: 3 4 */
/* MPI 5.0 sections 8.7 and 8.8: nonblocking and persistent neighbourhood collectives give the same results as the
 * blocking ones; two in flight, and started again with new data. MPI_Neighbor_alltoallw takes byte displacements as
 * MPI_Aint and a type per neighbour. */
#include "check.h"

int main(int argc, char **argv)
{
    int in[2], out[2], back[2], mine = 0;
    MPI_Comm ring;
    MPI_Request requests[2];
    start(&argc, &argv);
    int next = (world_rank + 1) % world_size, previous = (world_rank + world_size - 1) % world_size;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &world_size, (int[]){1}, 0, &ring);
    out[0] = 10 * world_rank;
    out[1] = 10 * world_rank + 1;
    MPI_Ineighbor_allgather(&world_rank, 1, MPI_INT, in, 1, MPI_INT, ring, &requests[0]);
    MPI_Ineighbor_alltoall(out, 1, MPI_INT, back, 1, MPI_INT, ring, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK_INT(in[0], previous);
    CHECK_INT(in[1], next);
    CHECK_INT(back[0], 10 * previous + 1);
    CHECK_INT(back[1], 10 * next);
    MPI_Neighbor_allgather_init(&mine, 1, MPI_INT, in, 1, MPI_INT, ring, MPI_INFO_NULL, &requests[0]);
    MPI_Neighbor_alltoall_init(out, 1, MPI_INT, back, 1, MPI_INT, ring, MPI_INFO_NULL, &requests[1]);
    for (int round = 0; round < 3; round++) {
        mine = 100 * round + world_rank;
        out[0] = 1000 * round + 10 * world_rank;
        out[1] = out[0] + 1;
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK_INT(in[0], 100 * round + previous);
        CHECK_INT(in[1], 100 * round + next);
        CHECK_INT(back[0], 1000 * round + 10 * previous + 1);
        CHECK_INT(back[1], 1000 * round + 10 * next);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    double mixed[2] = {0.5 + world_rank, 0}, arrived[2] = {0, 0};
    /* A double to the right, nothing to the left. */
    int sendcounts[2] = {0, 1}, recvcounts[2] = {1, 0};
    MPI_Aint places[2] = {8, 0};
    MPI_Datatype sendtypes[2] = {MPI_INT, MPI_DOUBLE}, recvtypes[2] = {MPI_DOUBLE, MPI_INT};
    CHECK_CALL(MPI_Neighbor_alltoallw(mixed, sendcounts, places, sendtypes, arrived, recvcounts, places, recvtypes, ring));
    CHECK_DOUBLE(arrived[1], 0.5 + previous);
    CHECK_DOUBLE(arrived[0], 0);
    MPI_Comm_free(&ring);
    return finish();
}
