/* ranks: 2 4 */
/* MPI 5.0 section 12.5.3: while one process holds an exclusive lock, others do not get theirs,
 * shared or exclusive, to the same target: rank 0 writes two halves with a pause between them, and
 * no reader sees them differ. */
#include "check.h"
#include <time.h>

int main(int argc, char **argv)
{
    start(&argc, &argv);
    for (int kind = 0; kind < 2; kind++) {
        int own[2] = {0, 0}, *base = own, got[2], target = world_size - 1;
        MPI_Win win;
        if (kind == 0)
            MPI_Win_create(own, sizeof own, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        else
            MPI_Win_allocate(sizeof own, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        base[0] = base[1] = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        for (int round = 1; round <= 20; round++) {
            if (world_rank == 0) {
                CHECK_CALL(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
                MPI_Put(&round, 1, MPI_INT, target, 0, 1, MPI_INT, win);
                MPI_Win_flush(target, win);
                nanosleep(&(struct timespec){0, 2000000}, NULL);
                MPI_Put(&round, 1, MPI_INT, target, 1, 1, MPI_INT, win);
                CHECK_CALL(MPI_Win_unlock(target, win));
            } else {
                int type = round % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE;
                CHECK_CALL(MPI_Win_lock(type, target, 0, win));
                MPI_Get(got, 2, MPI_INT, target, 0, 2, MPI_INT, win);
                CHECK_CALL(MPI_Win_unlock(target, win));
                CHECK_INT(got[0], got[1]);
            }
        }
        MPI_Win_free(&win);
    }
    return finish();
}
