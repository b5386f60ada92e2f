/* ranks: 2 3 */
/* skip-mpich: its target serves locks and accumulates only inside of MPI calls */
/* MPI 5.0 sections 12.5 and 12.7.3: the target of passive synchronisation takes no part in it.
 * Rank 0 sleeps and looks at its memory, without a call of MPI, until locks, puts, gets and
 * accumulates of the others are all done: in the unified model it sees them come (12.4). */
#include "check.h"
#include <time.h>

int main(int argc, char **argv)
{
    static long own[4];
    long *base = NULL, one = 1, value, got = -1, old = -1;
    MPI_Aint at = 0, step = sizeof(long);
    MPI_Win win;
    start(&argc, &argv);
    MPI_Win_create(base = own, sizeof own, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    memset(base, 0, sizeof own);
    MPI_Bcast(&at, 1, MPI_AINT, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0) {
        volatile long *done = base;
        for (int i = 0; i < 4000 && *done < 10 * (world_size - 1); i++)
            nanosleep(&(struct timespec){0, 10000000}, NULL);
        CHECK_INT(*done, 10 * (world_size - 1));
    } else {
        value = world_rank;
        MPI_Aint slot = MPI_Aint_add(at, step * world_rank);
        for (int i = 0; i < 10; i++) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
            MPI_Put(&value, 1, MPI_LONG, 0, slot, 1, MPI_LONG, win);
            MPI_Win_flush(0, win);
            MPI_Get(&got, 1, MPI_LONG, 0, slot, 1, MPI_LONG, win);
            MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, at, MPI_SUM, win);
            MPI_Win_unlock(0, win);
            CHECK_INT(got, value);
            CHECK(old >= 0);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        CHECK_INT(base[0], 10 * (world_size - 1));
        for (int i = 1; i < world_size; i++) CHECK_INT(base[i], i);
        MPI_Win_unlock(0, win);
    }
    MPI_Win_free(&win);
    return finish();
}
