/* ranks: 2 4 */
/* MPI 5.0 section 12.5.4: after flush_local the origin's buffers may be used again and the results
 * of gets are there; the unlock completes at the target. */
#include "check.h"

enum { COUNT = 500 };

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    for (int kind = 0; kind < 2; kind++) {
        static int own[COUNT];
        int *base = own, value = 0, got = -1;
        MPI_Win win;
        if (kind == 0)
            MPI_Win_create(own, sizeof own, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        else
            MPI_Win_allocate(sizeof own, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        for (int i = 0; i < COUNT; i++) base[i] = -1;
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock_all(0, win);
        for (int i = 0; i < COUNT; i++) {
            value = COUNT * world_rank + i;
            MPI_Put(&value, 1, MPI_INT, right, i, 1, MPI_INT, win);
            if (i % 2)
                CHECK_CALL(MPI_Win_flush_local(right, win));
            else
                CHECK_CALL(MPI_Win_flush_local_all(win));
            value = -77;
        }
        CHECK_CALL(MPI_Win_flush(right, win));
        MPI_Get(&got, 1, MPI_INT, right, COUNT - 1, 1, MPI_INT, win);
        CHECK_CALL(MPI_Win_flush_local(right, win));
        CHECK_INT(got, COUNT * world_rank + COUNT - 1);
        MPI_Fetch_and_op(NULL, &got, MPI_INT, right, 3, MPI_NO_OP, win);
        CHECK_CALL(MPI_Win_flush_local_all(win));
        CHECK_INT(got, COUNT * world_rank + 3);
        MPI_Win_unlock_all(win);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_SHARED, world_rank, 0, win);
        for (int i = 0; i < COUNT; i++) CHECK_INT(base[i], COUNT * left + i);
        MPI_Win_unlock(world_rank, win);
        MPI_Win_free(&win);
    }
    return finish();
}
