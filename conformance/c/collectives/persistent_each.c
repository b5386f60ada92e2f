/* ranks: 1 2 3 */
/* MPI 5.0 section 6.13: persistent collectives are set up once and started many times; each start uses the buffers as
 * they are then. Requests keep their handles between the rounds. */
#include "check.h"

int main(int argc, char **argv)
{
    int mine = 0, all[4], sum = 0, data = 0, out[4], in[4], least = 0, piece = 0, source[4], prefix = 0, n = 0;
    MPI_Request r[10];
    MPI_Comm w = MPI_COMM_WORLD;
    start(&argc, &argv);
    MPI_Barrier_init(w, MPI_INFO_NULL, &r[n++]);
    MPI_Bcast_init(&data, 1, MPI_INT, world_size - 1, w, MPI_INFO_NULL, &r[n++]);
    MPI_Allgather_init(&mine, 1, MPI_INT, all, 1, MPI_INT, w, MPI_INFO_NULL, &r[n++]);
    MPI_Allreduce_init(&mine, &sum, 1, MPI_INT, MPI_SUM, w, MPI_INFO_NULL, &r[n++]);
    MPI_Alltoall_init(out, 1, MPI_INT, in, 1, MPI_INT, w, MPI_INFO_NULL, &r[n++]);
    MPI_Reduce_init(&mine, &least, 1, MPI_INT, MPI_MIN, 0, w, MPI_INFO_NULL, &r[n++]);
    MPI_Scatter_init(source, 1, MPI_INT, &piece, 1, MPI_INT, 0, w, MPI_INFO_NULL, &r[n++]);
    MPI_Scan_init(&mine, &prefix, 1, MPI_INT, MPI_SUM, w, MPI_INFO_NULL, &r[n++]);
    for (int round = 0; round < 4; round++) {
        mine = world_rank + 100 * round;
        data = world_rank == world_size - 1 ? 7 + round : -1;
        for (int i = 0; i < 4; i++) {
            out[i] = 1000 * round + 10 * world_rank + i;
            source[i] = 50 * round + i;
        }
        CHECK_CALL(MPI_Startall(n, r));
        CHECK_CALL(MPI_Waitall(n, r, MPI_STATUSES_IGNORE));
        for (int i = 0; i < n; i++) CHECK(r[i] != MPI_REQUEST_NULL);
        CHECK_INT(data, 7 + round);
        CHECK_INT(sum, world_size * (world_size - 1) / 2 + 100 * round * world_size);
        for (int i = 0; i < world_size; i++) {
            CHECK_INT(all[i], i + 100 * round);
            CHECK_INT(in[i], 1000 * round + 10 * i + world_rank);
        }
        if (world_rank == 0) CHECK_INT(least, 100 * round);
        CHECK_INT(piece, 50 * round + world_rank);
        CHECK_INT(prefix, world_rank * (world_rank + 1) / 2 + 100 * round * (world_rank + 1));
    }
    for (int i = 0; i < n; i++) CHECK_CALL(MPI_Request_free(&r[i]));
    return finish();
}
