/* ranks: 2 */
/* MPI 5.0 section 12.7.3: a target that computes and calls no MPI function serves its window, and
 * in the unified model sees what arrives in its memory without a call. */
#include "check.h"

int main(int argc, char **argv)
{
    volatile int *base;
    int *memory, one = 1, *model, flag, old = -1;
    MPI_Win win;
    start(&argc, &argv);
    MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    base = memory;
    base[0] = base[1] = 0;
    MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &flag);
    MPI_Win_lock_all(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (*model == MPI_WIN_UNIFIED && world_rank == 0) {
        unsigned long steps = 0;
        /* The loop ends only by what rank 1 does. */
        while (base[1] == 0) steps++;
        CHECK(steps > 0 || base[1] == 1);
    } else if (*model == MPI_WIN_UNIFIED) {
        for (int i = 0; i < 100; i++) {
            MPI_Fetch_and_op(&one, &old, MPI_INT, 0, 0, MPI_SUM, win);
            MPI_Win_flush(0, win);
            CHECK_INT(old, i);
        }
        MPI_Accumulate(&one, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_REPLACE, win);
        MPI_Win_flush(0, win);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    return finish();
}
