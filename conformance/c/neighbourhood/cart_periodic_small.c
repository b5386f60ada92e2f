/* ranks: 1 2 */
/* MPI 5.0 section 8.6: a periodic dimension of size 1 makes a process its own neighbour on both sides, one of size 2
 * makes the other process both neighbours. What I send to the -1 side arrives at that process as coming from its +1
 * side: so block 0 is received from the peer's block 1 and the other way round (the two messages between the same pair
 * are told apart by direction). */
#include "check.h"

int main(int argc, char **argv)
{
    int out[2], in[2] = {-1, -1}, counts[2] = {1, 1}, places[2] = {1, 0};
    MPI_Comm ring;
    start(&argc, &argv);
    int peer = world_size - 1 - world_rank;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &world_size, (int[]){1}, 0, &ring);
    out[0] = 10 * world_rank;
    out[1] = 10 * world_rank + 1;
    CHECK_CALL(MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, ring));
    CHECK_INT(in[0], 10 * peer + 1);
    CHECK_INT(in[1], 10 * peer);
    memset(in, -1, sizeof in);
    CHECK_CALL(MPI_Neighbor_alltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, ring));
    /* Both sides store the -1 neighbour's block second and the +1 neighbour's first. */
    CHECK_INT(in[1], 10 * peer);
    CHECK_INT(in[0], 10 * peer + 1);
    MPI_Comm_free(&ring);
    return finish();
}
