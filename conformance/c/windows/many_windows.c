/* ranks: 2 3 */
/* MPI 5.0 section 12.2: windows are independent of each other: many live at the same time, on
 * different communicators, each with its own epochs, and they are freed in any order. */
#include "check.h"

enum { WINDOWS = 40 };

int main(int argc, char **argv)
{
    static int cells[WINDOWS];
    int *base[WINDOWS];
    MPI_Win windows[WINDOWS];
    start(&argc, &argv);
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    for (int i = 0; i < WINDOWS; i++) {
        if (i % 2)
            MPI_Win_create(base[i] = &cells[i], 4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &windows[i]);
        else
            MPI_Win_allocate(4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base[i], &windows[i]);
        *base[i] = -1;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < WINDOWS; i++) MPI_Win_lock(MPI_LOCK_SHARED, right, 0, windows[i]);
    int values[WINDOWS];
    for (int i = WINDOWS - 1; i >= 0; i--) {
        values[i] = 100 * world_rank + i;
        MPI_Put(&values[i], 1, MPI_INT, right, 0, 1, MPI_INT, windows[i]);
    }
    for (int i = 0; i < WINDOWS; i++) MPI_Win_unlock(right, windows[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < WINDOWS; i++) {
        int at = i * 7 % WINDOWS;
        MPI_Win_lock(MPI_LOCK_SHARED, world_rank, 0, windows[at]);
        CHECK_INT(*base[at], 100 * left + at);
        MPI_Win_unlock(world_rank, windows[at]);
        CHECK_CALL(MPI_Win_free(&windows[at]));
    }
    return finish();
}
