/* ranks: 2 4 */
/* MPI 5.0 section 12.5.3: accesses under an exclusive lock do not run beside those of other lock
 * epochs on the same window: a counter read by get and written by put loses no step. */
#include "check.h"

enum { ROUNDS = 100 };

int main(int argc, char **argv)
{
    start(&argc, &argv);
    for (int kind = 0; kind < 2; kind++) {
        long own[2] = {0, 0}, *base = own;
        MPI_Win win;
        if (kind == 0)
            MPI_Win_create(own, sizeof own, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        else
            MPI_Win_allocate(sizeof own, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        base[0] = base[1] = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        for (int round = 0; round < ROUNDS; round++) {
            long now[2];
            CHECK_CALL(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
            MPI_Get(now, 2, MPI_LONG, 0, 0, 2, MPI_LONG, win);
            CHECK_CALL(MPI_Win_flush(0, win));
            CHECK_INT(now[1], -now[0]);
            now[0]++, now[1]--;
            MPI_Put(now, 2, MPI_LONG, 0, 0, 2, MPI_LONG, win);
            CHECK_CALL(MPI_Win_unlock(0, win));
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (world_rank == 0) {
            MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
            CHECK_INT(base[0], ROUNDS * world_size);
            CHECK_INT(base[1], -ROUNDS * world_size);
            MPI_Win_unlock(0, win);
        }
        MPI_Win_free(&win);
    }
    return finish();
}
