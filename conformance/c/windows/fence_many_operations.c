/* ranks: 2 3 */
/* MPI 5.0 section 12.5.1: a fence completes all operations of the epoch, however many, at the
 * origin and at the target, before any process leaves it. */
#include "check.h"

enum { COUNT = 3000 };

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    for (int kind = 0; kind < 2; kind++) {
        static int own[COUNT], values[COUNT], got[COUNT];
        int *base = own;
        MPI_Win win;
        if (kind == 0)
            MPI_Win_create(own, sizeof own, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        else
            MPI_Win_allocate(sizeof own, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        for (int i = 0; i < COUNT; i++) base[i] = -1, got[i] = -1, values[i] = world_rank + 7 * i;
        MPI_Win_fence(0, win);
        for (int i = 0; i < COUNT; i++) MPI_Put(&values[i], 1, MPI_INT, right, i, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
        for (int i = 0; i < COUNT; i++) CHECK_INT(base[i], left + 7 * i);
        MPI_Win_fence(0, win);
        for (int i = 0; i < COUNT; i++) MPI_Get(&got[i], 1, MPI_INT, right, i, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
        CHECK_BYTES(got, values, sizeof got);
        MPI_Win_free(&win);
    }
    return finish();
}
