/* ranks: 4 */
/* MPI 5.0 section 8.5: ranks of a Cartesian communicator are row-major (the last coordinate runs fastest); coordinates
 * in a periodic dimension wrap in MPI_Cart_rank. MPI_Cart_get returns what was given. */
#include "check.h"

int main(int argc, char **argv)
{
    int dims[2] = {2, 2}, periods[2] = {1, 0}, got[2], cyclic[2], coords[2], mine[2], rank = -1, count = -1, status = -1;
    MPI_Comm cart;
    start(&argc, &argv);
    CHECK_CALL(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &cart));
    MPI_Topo_test(cart, &status);
    CHECK_INT(status, MPI_CART);
    MPI_Topo_test(MPI_COMM_WORLD, &status);
    CHECK_INT(status, MPI_UNDEFINED);
    MPI_Cartdim_get(cart, &count);
    CHECK_INT(count, 2);
    MPI_Cart_get(cart, 2, got, cyclic, mine);
    CHECK_INT(got[0], 2);
    CHECK_INT(got[1], 2);
    CHECK_INT(!!cyclic[0], 1);
    CHECK_INT(!!cyclic[1], 0);
    CHECK_INT(mine[0], world_rank / 2);
    CHECK_INT(mine[1], world_rank % 2);
    for (int r = 0; r < 4; r++) {
        MPI_Cart_coords(cart, r, 2, coords);
        CHECK_INT(coords[0], r / 2);
        CHECK_INT(coords[1], r % 2);
        MPI_Cart_rank(cart, coords, &rank);
        CHECK_INT(rank, r);
    }
    MPI_Cart_rank(cart, (int[]){-1, 1}, &rank);
    CHECK_INT(rank, 3);
    MPI_Cart_rank(cart, (int[]){4, 0}, &rank);
    CHECK_INT(rank, 0);
    MPI_Comm_free(&cart);
    return finish();
}
