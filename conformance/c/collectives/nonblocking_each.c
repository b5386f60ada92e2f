/* ranks: 1 2 3 4 */
/* MPI 5.0 section 6.12: every collective has a nonblocking form with the same result once its request is complete. All
 * are started before any is completed. */
#include "check.h"

int main(int argc, char **argv)
{
    int gathered[4] = {0}, everywhere[4] = {0}, varied[4] = {0}, out[4], in[4] = {0}, inv[4] = {0}, inw[4] = {0};
    int scattered = -1, piece = -1, sum = -1, total = -1, block = -1, some = -1, prefix = -1, before = -1, mine, n = 0;
    int ones[4] = {1, 1, 1, 1}, places[4] = {0, 1, 2, 3}, bytes[4] = {0, 4, 8, 12}, source[4] = {10, 11, 12, 13};
    MPI_Datatype ints[4] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT};
    MPI_Request r[20];
    MPI_Comm w = MPI_COMM_WORLD;
    start(&argc, &argv);
    mine = world_rank;
    for (int i = 0; i < 4; i++) out[i] = 10 * world_rank + i;
    MPI_Igather(&mine, 1, MPI_INT, gathered, 1, MPI_INT, 0, w, &r[n++]);
    MPI_Iallgather(&mine, 1, MPI_INT, everywhere, 1, MPI_INT, w, &r[n++]);
    MPI_Iallgatherv(&mine, 1, MPI_INT, varied, ones, places, MPI_INT, w, &r[n++]);
    MPI_Iscatter(source, 1, MPI_INT, &scattered, 1, MPI_INT, 0, w, &r[n++]);
    MPI_Iscatterv(source, ones, places, MPI_INT, &piece, 1, MPI_INT, 0, w, &r[n++]);
    MPI_Ialltoall(out, 1, MPI_INT, in, 1, MPI_INT, w, &r[n++]);
    MPI_Ialltoallv(out, ones, places, MPI_INT, inv, ones, places, MPI_INT, w, &r[n++]);
    MPI_Ialltoallw(out, ones, bytes, ints, inw, ones, bytes, ints, w, &r[n++]);
    MPI_Ireduce(&mine, &sum, 1, MPI_INT, MPI_SUM, 0, w, &r[n++]);
    MPI_Iallreduce(&mine, &total, 1, MPI_INT, MPI_SUM, w, &r[n++]);
    MPI_Ireduce_scatter_block(out, &block, 1, MPI_INT, MPI_SUM, w, &r[n++]);
    MPI_Ireduce_scatter(out, &some, ones, MPI_INT, MPI_MAX, w, &r[n++]);
    MPI_Iscan(&mine, &prefix, 1, MPI_INT, MPI_SUM, w, &r[n++]);
    MPI_Iexscan(&mine, &before, 1, MPI_INT, MPI_SUM, w, &r[n++]);
    MPI_Ibarrier(w, &r[n++]);
    CHECK_CALL(MPI_Waitall(n, r, MPI_STATUSES_IGNORE));
    int ranks = world_size * (world_size - 1) / 2;
    for (int i = 0; i < world_size; i++) {
        if (world_rank == 0) CHECK_INT(gathered[i], i);
        CHECK_INT(everywhere[i], i);
        CHECK_INT(varied[i], i);
        CHECK_INT(in[i], 10 * i + world_rank);
        CHECK_INT(inv[i], 10 * i + world_rank);
        CHECK_INT(inw[i], 10 * i + world_rank);
    }
    CHECK_INT(scattered, 10 + world_rank);
    CHECK_INT(piece, 10 + world_rank);
    if (world_rank == 0) CHECK_INT(sum, ranks);
    CHECK_INT(total, ranks);
    CHECK_INT(block, 10 * ranks + world_size * world_rank);
    CHECK_INT(some, 10 * (world_size - 1) + world_rank);
    CHECK_INT(prefix, world_rank * (world_rank + 1) / 2);
    if (world_rank > 0) CHECK_INT(before, world_rank * (world_rank - 1) / 2);
    return finish();
}
