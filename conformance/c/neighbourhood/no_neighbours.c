/* ranks: 2 */
/* MPI 5.0 sections 8.5.4 and 8.6: a process may have no neighbours at all, given with MPI_WEIGHTS_EMPTY; the
 * neighbourhood calls then do nothing for it. An edge may also appear twice, and then carries two messages. */
#include "check.h"

int main(int argc, char **argv)
{
    int data = -1, in[2] = {-1, -1}, twice[2] = {1, 1}, weights[2] = {1, 2}, from[2] = {0, 0};
    MPI_Comm none, pairs;
    start(&argc, &argv);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL, MPI_WEIGHTS_EMPTY,
                                   MPI_INFO_NULL, 0, &none);
    CHECK_CALL(MPI_Neighbor_allgather(&world_rank, 1, MPI_INT, &data, 1, MPI_INT, none));
    CHECK_INT(data, -1);
    MPI_Comm_free(&none);
    /* Two edges from rank 0 to rank 1. */
    if (world_rank == 0)
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_WEIGHTS_EMPTY, 2, twice, weights,
                                       MPI_INFO_NULL, 0, &pairs);
    else
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, from, weights, 0, NULL, MPI_WEIGHTS_EMPTY,
                                       MPI_INFO_NULL, 0, &pairs);
    int out[2] = {5, 6};
    CHECK_CALL(MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, pairs));
    CHECK_INT(in[0] + in[1], world_rank == 0 ? -2 : 11);
    MPI_Comm_free(&pairs);
    return finish();
}
