/* ranks: 2 4 */
/* MPI 5.0 section 12.7.1: accumulates are atomic per element against each other: tickets drawn by
 * fetch_and_op are each drawn once, from shared locks, by all ranks, the owner among them; added
 * sums of other types lose nothing. */
#include "check.h"
#include <stddef.h>

enum { ROUNDS = 500 };

int main(int argc, char **argv)
{
    start(&argc, &argv);
    for (int kind = 0; kind < 2; kind++) {
        struct cells {
            long ticket;
            double sum;
            long double wide;
            short small[4];
        } own, *base = &own;
        int drawn[4 * ROUNDS] = {0}, all[4 * ROUNDS];
        MPI_Win win;
        if (kind == 0)
            MPI_Win_create(&own, sizeof own, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        else
            MPI_Win_allocate(sizeof own, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        memset(base, 0, sizeof own);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Aint sum = offsetof(struct cells, sum), wide = offsetof(struct cells, wide);
        MPI_Aint small = offsetof(struct cells, small);
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        long one = 1, ticket = -1;
        double half = 0.5;
        long double quarter = 0.25L;
        short ones[4] = {1, 2, 3, 4};
        for (int i = 0; i < ROUNDS; i++) {
            MPI_Fetch_and_op(&one, &ticket, MPI_LONG, 0, 0, MPI_SUM, win);
            MPI_Accumulate(&half, 1, MPI_DOUBLE, 0, sum, 1, MPI_DOUBLE, MPI_SUM, win);
            MPI_Accumulate(&quarter, 1, MPI_LONG_DOUBLE, 0, wide, 1, MPI_LONG_DOUBLE, MPI_SUM, win);
            MPI_Accumulate(ones, 4, MPI_SHORT, 0, small, 4, MPI_SHORT, MPI_SUM, win);
            MPI_Win_flush(0, win);
            CHECK(ticket >= 0 && ticket < world_size * ROUNDS);
            if (ticket >= 0 && ticket < 4 * ROUNDS) drawn[ticket]++;
        }
        MPI_Win_unlock(0, win);
        MPI_Allreduce(drawn, all, world_size * ROUNDS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < world_size * ROUNDS; i++) CHECK_INT(all[i], 1);
        if (world_rank == 0) {
            MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
            CHECK_INT(base->ticket, world_size * ROUNDS);
            CHECK_DOUBLE(base->sum, world_size * ROUNDS * 0.5);
            CHECK_DOUBLE(base->wide, world_size * ROUNDS * 0.25);
            for (int i = 0; i < 4; i++) CHECK_INT(base->small[i], (i + 1) * world_size * ROUNDS);
            MPI_Win_unlock(0, win);
        }
        MPI_Win_free(&win);
    }
    return finish();
}
