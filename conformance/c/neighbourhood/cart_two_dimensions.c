/* ranks: 4 */
/* MPI 5.0 section 8.6: a 2 x 2 torus; every process has four neighbours, in the order -x, +x, -y, +y. In each dimension
 * of size 2 both are the same process. */
#include "check.h"

int main(int argc, char **argv)
{
    int in[4] = {-1, -1, -1, -1}, wide[8];
    MPI_Comm torus;
    start(&argc, &argv);
    MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){2, 2}, (int[]){1, 1}, 0, &torus);
    int across = (world_rank + 2) % 4, beside = world_rank ^ 1;
    CHECK_CALL(MPI_Neighbor_allgather(&world_rank, 1, MPI_INT, in, 1, MPI_INT, torus));
    CHECK_INT(in[0], across);
    CHECK_INT(in[1], across);
    CHECK_INT(in[2], beside);
    CHECK_INT(in[3], beside);
    memset(wide, -1, sizeof wide);
    int ones[4] = {1, 1, 1, 1}, places[4] = {6, 4, 2, 0};
    CHECK_CALL(MPI_Neighbor_allgatherv(&world_rank, 1, MPI_INT, wide, ones, places, MPI_INT, torus));
    CHECK_INT(wide[6], across);
    CHECK_INT(wide[2], beside);
    CHECK_INT(wide[1], -1);
    MPI_Comm_free(&torus);
    return finish();
}
