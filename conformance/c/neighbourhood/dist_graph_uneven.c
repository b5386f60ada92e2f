/* ranks: 2 3 4 */
/* MPI 5.0 section 8.6: on a distributed graph, data come from the sources and go to the destinations in the order in
 * which MPI_Dist_graph_neighbors lists them. A star: rank 0 sends to all others and receives from all, the others have
 * rank 0 alone. */
#include "check.h"

int main(int argc, char **argv)
{
    int list[4], in[4] = {-1, -1, -1, -1}, out[4], zero = 0;
    MPI_Comm star;
    start(&argc, &argv);
    int degree = world_rank == 0 ? world_size - 1 : 1;
    for (int i = 0; i < world_size - 1; i++) list[i] = world_size - 1 - i;
    int *around = world_rank == 0 ? list : &zero;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, around, MPI_UNWEIGHTED, degree, around, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &star);
    CHECK_CALL(MPI_Neighbor_allgather(&world_rank, 1, MPI_INT, in, 1, MPI_INT, star));
    if (world_rank == 0)
        for (int i = 0; i < degree; i++) CHECK_INT(in[i], world_size - 1 - i);
    else CHECK_INT(in[0], 0);
    for (int i = 0; i < degree; i++) out[i] = 100 * world_rank + i;
    CHECK_CALL(MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, star));
    if (world_rank == 0)
        for (int i = 0; i < degree; i++) CHECK_INT(in[i], 100 * (world_size - 1 - i));
    else CHECK_INT(in[0], world_size - 1 - world_rank);
    MPI_Comm_free(&star);
    return finish();
}
