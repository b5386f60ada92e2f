/* ranks: 2 4 */
/* MPI 5.0 section 12.5.3: shared locks are held at the same time: all ranks hold one and meet in a
 * barrier. Several targets may be locked at once, each with its own kind. */
#include "check.h"

int main(int argc, char **argv)
{
    int *base, got[4];
    MPI_Win win;
    start(&argc, &argv);
    MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    *base = 50 + world_rank;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < 20; round++) {
        for (int rank = 0; rank < world_size; rank++)
            CHECK_CALL(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
        MPI_Barrier(MPI_COMM_WORLD);
        for (int rank = 0; rank < world_size; rank++)
            CHECK_CALL(MPI_Get(&got[rank], 1, MPI_INT, rank, 0, 1, MPI_INT, win));
        for (int rank = world_size - 1; rank >= 0; rank--) {
            CHECK_CALL(MPI_Win_unlock(rank, win));
            CHECK_INT(got[rank], 50 + rank);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    /* Each rank has its right neighbour alone, and reads itself when that is over. */
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    int value = 70 + world_rank;
    CHECK_CALL(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win));
    MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, win);
    CHECK_CALL(MPI_Win_unlock(right, win));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, world_rank, 0, win));
    CHECK_INT(*base, 70 + left);
    *base = 90;
    CHECK_CALL(MPI_Win_unlock(world_rank, win));
    MPI_Win_free(&win);
    return finish();
}
