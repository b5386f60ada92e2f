/* ranks: 2 3 */
/* MPI 5.0 section 12.2.5: MPI_Win_free returns only when all processes have called it, so a late
 * process's accesses to a window still find it. */
#include "check.h"
#include <time.h>

int main(int argc, char **argv)
{
    int *base, value = 9, got = 0;
    MPI_Win win;
    start(&argc, &argv);
    for (int round = 0; round < 5; round++) {
        MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        *base = 4;
        MPI_Barrier(MPI_COMM_WORLD);
        if (world_rank == world_size - 1) {
            nanosleep(&(struct timespec){0, 50000000}, NULL);
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
            MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
            MPI_Win_flush(0, win);
            MPI_Get(&got, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
            MPI_Win_unlock(0, win);
            CHECK_INT(got, 9);
        }
        CHECK_CALL(MPI_Win_free(&win));
    }
    return finish();
}
