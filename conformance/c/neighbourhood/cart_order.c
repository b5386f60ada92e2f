/* ranks: 3 4 */
/* MPI 5.0 section 8.6: on a Cartesian topology the neighbours are, for each dimension, first the one at -1, then at +1.
 * Beyond an edge they are MPI_PROC_NULL: that part of the receive buffer stays as it is, but keeps its place. */
#include "check.h"

int main(int argc, char **argv)
{
    int in[2] = {-1, -1}, out[2], back[2] = {-1, -1};
    MPI_Comm line;
    start(&argc, &argv);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &world_size, (int[]){0}, 0, &line);
    CHECK_CALL(MPI_Neighbor_allgather(&world_rank, 1, MPI_INT, in, 1, MPI_INT, line));
    CHECK_INT(in[0], world_rank == 0 ? -1 : world_rank - 1);
    CHECK_INT(in[1], world_rank == world_size - 1 ? -1 : world_rank + 1);
    out[0] = 10 * world_rank;
    out[1] = 10 * world_rank + 1;
    CHECK_CALL(MPI_Neighbor_alltoall(out, 1, MPI_INT, back, 1, MPI_INT, line));
    CHECK_INT(back[0], world_rank == 0 ? -1 : 10 * (world_rank - 1) + 1);
    CHECK_INT(back[1], world_rank == world_size - 1 ? -1 : 10 * (world_rank + 1));
    MPI_Comm_free(&line);
    return finish();
}
