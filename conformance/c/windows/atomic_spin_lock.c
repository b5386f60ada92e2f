/* ranks: 2 4 */
/* MPI 5.0 section 12.7.1: compare_and_swap is atomic against compare_and_swap and fetch_and_op. A
 * lock built from it guards a plain counter moved by put and get. */
#include "check.h"

enum { ROUNDS = 60 };

int main(int argc, char **argv)
{
    int *base, free_mark = 0, taken = world_rank, old = -1, count;
    MPI_Win win;
    start(&argc, &argv);
    taken = world_rank + 1;
    MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    base[0] = base[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int round = 0; round < ROUNDS; round++) {
        do {
            MPI_Compare_and_swap(&taken, &free_mark, &old, MPI_INT, 0, 0, win);
            MPI_Win_flush(0, win);
        } while (old != free_mark);
        MPI_Get(&count, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
        MPI_Win_flush(0, win);
        count++;
        MPI_Put(&count, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
        MPI_Win_flush(0, win);
        MPI_Fetch_and_op(&free_mark, &old, MPI_INT, 0, 0, MPI_REPLACE, win);
        MPI_Win_flush(0, win);
        CHECK_INT(old, taken);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        CHECK_INT(base[0], 0);
        CHECK_INT(base[1], ROUNDS * world_size);
        MPI_Win_unlock(0, win);
    }
    MPI_Win_free(&win);
    return finish();
}
