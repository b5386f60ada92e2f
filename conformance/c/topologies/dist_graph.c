/* ranks: 2 3 4 */
/* MPI 5.0 section 8.5.4: a distributed graph, given by each process's own neighbours (adjacent) or by edges that any
 * process contributes. A directed ring with weights: sources and destinations come back with their weights;
 * MPI_UNWEIGHTED is reported as such. */
#include "check.h"

static void ring(MPI_Comm graph, int weighted)
{
    int in = -1, out = -1, is = -1, source[2] = {-1, -1}, from[2] = {0}, destination[2] = {-1, -1}, to[2] = {0}, status = -1;
    int next = (world_rank + 1) % world_size, previous = (world_rank + world_size - 1) % world_size;
    MPI_Topo_test(graph, &status);
    CHECK_INT(status, MPI_DIST_GRAPH);
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &is);
    CHECK_INT(in, 1);
    CHECK_INT(out, 1);
    CHECK_INT(!!is, weighted);
    if (weighted) MPI_Dist_graph_neighbors(graph, 1, source, from, 1, destination, to);
    else MPI_Dist_graph_neighbors(graph, 1, source, MPI_UNWEIGHTED, 1, destination, MPI_UNWEIGHTED);
    CHECK_INT(source[0], previous);
    CHECK_INT(destination[0], next);
    if (weighted) {
        CHECK_INT(from[0], 10 + previous);
        CHECK_INT(to[0], 10 + world_rank);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm graph;
    start(&argc, &argv);
    int next = (world_rank + 1) % world_size, previous = (world_rank + world_size - 1) % world_size;
    int incoming = 10 + previous, outgoing = 10 + world_rank;
    CHECK_CALL(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &previous, &incoming, 1, &next, &outgoing,
                                              MPI_INFO_NULL, 0, &graph));
    ring(graph, 1);
    MPI_Comm_free(&graph);
    CHECK_CALL(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &previous, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED,
                                              MPI_INFO_NULL, 0, &graph));
    ring(graph, 0);
    MPI_Comm_free(&graph);
    /* Rank 0 knows the whole ring, the others contribute nothing. */
    int sources[4], degrees[4] = {1, 1, 1, 1}, destinations[4], weights[4];
    for (int r = 0; r < world_size; r++) {
        sources[r] = r;
        destinations[r] = (r + 1) % world_size;
        weights[r] = 10 + r;
    }
    CHECK_CALL(MPI_Dist_graph_create(MPI_COMM_WORLD, world_rank == 0 ? world_size : 0, sources, degrees, destinations, weights,
                                     MPI_INFO_NULL, 0, &graph));
    ring(graph, 1);
    MPI_Comm_free(&graph);
    return finish();
}
