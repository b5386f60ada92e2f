/* ranks: 1 2 3 4 */
/* MPI 5.0 section 6.9.1: the root gets the elementwise result, from any root and for any length; with MPI_IN_PLACE at
 * the root its input is in the receive buffer. Other ranks' receive buffers are not significant and stay as they are. */
#include "check.h"

int main(int argc, char **argv)
{
    static const int sizes[] = {1, 5, 1000, 50000};
    static int in[50000], out[50000];
    start(&argc, &argv);
    int ranks = world_size * (world_size - 1) / 2;
    for (int k = 0; k < 4; k++) {
        int root = (k + 1) % world_size, wrong = 0;
        for (int i = 0; i < sizes[k]; i++) {
            in[i] = world_rank + i;
            out[i] = -7;
        }
        CHECK_CALL(MPI_Reduce(in, out, sizes[k], MPI_INT, MPI_SUM, root, MPI_COMM_WORLD));
        for (int i = 0; i < sizes[k]; i++) wrong += out[i] != (world_rank == root ? ranks + i * world_size : -7);
        CHECK_INT(wrong, 0);
        if (world_rank == root) CHECK_CALL(MPI_Reduce(MPI_IN_PLACE, in, sizes[k], MPI_INT, MPI_MAX, root, MPI_COMM_WORLD));
        else CHECK_CALL(MPI_Reduce(in, NULL, sizes[k], MPI_INT, MPI_MAX, root, MPI_COMM_WORLD));
        if (world_rank == root)
            for (int i = 0; i < sizes[k]; i++) wrong += in[i] != world_size - 1 + i;
        CHECK_INT(wrong, 0);
    }
    return finish();
}
