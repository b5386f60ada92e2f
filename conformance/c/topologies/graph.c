/* ranks: 4 */
/* MPI 5.0 section 8.5.3, its example: nodes 0..3 with neighbours {1,3}, {0}, {3}, {0,2}: nnodes 4, index (2,3,4,6),
 * edges (1,3,0,3,0,2). */
#include "check.h"

int main(int argc, char **argv)
{
    int index[4] = {2, 3, 4, 6}, edges[6] = {1, 3, 0, 3, 0, 2}, got[4], lines[6], around[4];
    int nodes = -1, links = -1, count = -1, status = -1;
    static const int degree[4] = {2, 1, 1, 2}, list[4][2] = {{1, 3}, {0, -1}, {3, -1}, {0, 2}};
    MPI_Comm graph;
    start(&argc, &argv);
    CHECK_CALL(MPI_Graph_create(MPI_COMM_WORLD, 4, index, edges, 0, &graph));
    MPI_Topo_test(graph, &status);
    CHECK_INT(status, MPI_GRAPH);
    MPI_Graphdims_get(graph, &nodes, &links);
    CHECK_INT(nodes, 4);
    CHECK_INT(links, 6);
    MPI_Graph_get(graph, 4, 6, got, lines);
    CHECK_BYTES(got, index, sizeof index);
    CHECK_BYTES(lines, edges, sizeof edges);
    for (int r = 0; r < 4; r++) {
        MPI_Graph_neighbors_count(graph, r, &count);
        CHECK_INT(count, degree[r]);
        MPI_Graph_neighbors(graph, r, count, around);
        for (int i = 0; i < count; i++) CHECK_INT(around[i], list[r][i]);
    }
    MPI_Comm_free(&graph);
    return finish();
}
