/* ranks: 1 2 3 4 */
/* MPI 5.0 section 6.10: the elementwise reduction is cut into pieces, equal ones (_block) or with a count per rank, one
 * of which may be 0; piece i goes to rank i. In place, the input is in the receive buffer and the result at its start. */
#include "check.h"

int main(int argc, char **argv)
{
    int in[16], out[8], counts[4], before = 0, total = 0;
    start(&argc, &argv);
    int ranks = world_size * (world_size - 1) / 2;
    for (int i = 0; i < 16; i++) in[i] = world_rank + 10 * i;
    CHECK_CALL(MPI_Reduce_scatter_block(in, out, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    for (int i = 0; i < 3; i++) CHECK_INT(out[i], ranks + 10 * world_size * (3 * world_rank + i));
    for (int r = 0; r < world_size; r++) {
        counts[r] = r == 1 ? 0 : r + 1;
        if (r < world_rank) before += counts[r];
        total += counts[r];
    }
    memset(out, -1, sizeof out);
    CHECK_CALL(MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    for (int i = 0; i < counts[world_rank]; i++) CHECK_INT(out[i], ranks + 10 * world_size * (before + i));
    CHECK_INT(out[counts[world_rank]], -1);
    CHECK_CALL(MPI_Reduce_scatter(MPI_IN_PLACE, in, counts, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    for (int i = 0; i < counts[world_rank]; i++) CHECK_INT(in[i], world_size - 1 + 10 * (before + i));
    CHECK(total <= 16);
    return finish();
}
