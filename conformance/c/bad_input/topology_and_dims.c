/* ranks: 2 */
/* MPI 5.0 sections 8.5 and 9.4: asking a communicator for a topology it does not have is MPI_ERR_TOPOLOGY; a negative
 * dimension for MPI_Dims_create is MPI_ERR_DIMS. */
#include "check.h"

int main(int argc, char **argv)
{
    int count, dims[2] = {-1, 2}, coords[2], in, out, weighted;
    MPI_Comm cart;
    start(&argc, &argv);
    errors_return();
    CHECK_CLASS(MPI_Cartdim_get(MPI_COMM_WORLD, &count), MPI_ERR_TOPOLOGY);
    CHECK_CLASS(MPI_Cart_coords(MPI_COMM_WORLD, 0, 2, coords), MPI_ERR_TOPOLOGY);
    CHECK_CLASS(MPI_Cart_shift(MPI_COMM_WORLD, 0, 1, &in, &out), MPI_ERR_TOPOLOGY);
    CHECK_CLASS(MPI_Graphdims_get(MPI_COMM_WORLD, &in, &out), MPI_ERR_TOPOLOGY);
    CHECK_CLASS(MPI_Dist_graph_neighbors_count(MPI_COMM_WORLD, &in, &out, &weighted), MPI_ERR_TOPOLOGY);
    CHECK_CLASS(MPI_Neighbor_allgather(&in, 1, MPI_INT, coords, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_TOPOLOGY);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &world_size, (int[]){1}, 0, &cart);
    MPI_Comm_set_errhandler(cart, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Graphdims_get(cart, &in, &out), MPI_ERR_TOPOLOGY);
    MPI_Comm_free(&cart);
    CHECK_CLASS(MPI_Dims_create(4, 2, dims), MPI_ERR_DIMS);
    return finish();
}
