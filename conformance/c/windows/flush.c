/* ranks: 2 4 */
/* MPI 5.0 section 12.5.4: after flush the operations to that rank are complete at the target,
 * after flush_all those to every rank; the epoch stays open. A message after the flush tells the
 * target, which sees the data after MPI_Win_sync. */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    for (int kind = 0; kind < 2; kind++) {
        int own[8], *base = own, value, token = 0;
        MPI_Win win;
        if (kind == 0)
            MPI_Win_create(own, sizeof own, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        else
            MPI_Win_allocate(sizeof own, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        CHECK_CALL(MPI_Win_lock_all(0, win));
        for (int round = 0; round < 100; round++) {
            value = 1000 * round + world_rank;
            CHECK_CALL(MPI_Put(&value, 1, MPI_INT, right, 1, 1, MPI_INT, win));
            CHECK_CALL(MPI_Win_flush(right, win));
            MPI_Sendrecv(&token, 1, MPI_INT, right, 0, &token, 1, MPI_INT, left, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            CHECK_CALL(MPI_Win_sync(win));
            CHECK_INT(base[1], 1000 * round + left);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        int values[4];
        for (int rank = 0; rank < world_size; rank++) {
            values[rank] = 100 * world_rank + rank;
            CHECK_CALL(MPI_Put(&values[rank], 1, MPI_INT, rank, 2 + world_rank, 1, MPI_INT, win));
        }
        CHECK_CALL(MPI_Win_flush_all(win));
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK_CALL(MPI_Win_sync(win));
        for (int rank = 0; rank < world_size; rank++)
            CHECK_INT(base[2 + rank], 100 * rank + world_rank);
        /* A flush with nothing to complete is valid. */
        CHECK_CALL(MPI_Win_flush_all(win));
        CHECK_CALL(MPI_Win_flush(world_rank, win));
        CHECK_CALL(MPI_Win_unlock_all(win));
        MPI_Win_free(&win);
    }
    return finish();
}
