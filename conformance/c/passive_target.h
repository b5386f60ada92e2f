/* What the programs about a passive target share: they differ in the window alone. Rank 0 sleeps and
 * looks at its memory, four zeros that begin at `at` for the others, without a call of MPI, until
 * locks, puts, gets and accumulates of the others are all done. */
#ifndef CONFORMANCE_PASSIVE_TARGET_H
#define CONFORMANCE_PASSIVE_TARGET_H

#include "check.h"
#include <time.h>

static inline void passive_target(MPI_Win win, long *base, MPI_Aint at)
{
    long one = 1, value, got = -1, old = -1;
    MPI_Aint step = sizeof(long);
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
}

#endif
