/* ranks: 2 */
/* MPI 5.0 sections 7.4.2 and 8.4: MPI_Comm_dup copies the topology; MPI_Comm_split and MPI_Comm_create do not. Asking a
 * communicator without topology is MPI_ERR_TOPOLOGY. */
#include "check.h"

int main(int argc, char **argv)
{
    int status = -1, dims[1] = {0}, periods[1], coords[1], count;
    MPI_Comm cart, twin, part;
    start(&argc, &argv);
    errors_return();
    MPI_Cart_create(MPI_COMM_WORLD, 1, &world_size, (int[]){1}, 0, &cart);
    MPI_Comm_dup(cart, &twin);
    MPI_Topo_test(twin, &status);
    CHECK_INT(status, MPI_CART);
    MPI_Cart_get(twin, 1, dims, periods, coords);
    CHECK_INT(dims[0], world_size);
    MPI_Comm_split(cart, 0, 0, &part);
    MPI_Topo_test(part, &status);
    CHECK_INT(status, MPI_UNDEFINED);
    CHECK_CLASS(MPI_Cartdim_get(MPI_COMM_WORLD, &count), MPI_ERR_TOPOLOGY);
    MPI_Comm_free(&part);
    MPI_Comm_free(&twin);
    MPI_Comm_free(&cart);
    return finish();
}
