/* ranks: 2 3 */
/* MPI 5.0 section 12.5.5: MPI_MODE_NOCHECK on a lock asserts that no conflicting lock is held; the
 * epoch works as any other. Messages keep the order here. */
#include "check.h"

int main(int argc, char **argv)
{
    int *base, value = 10 * world_rank, token = 0;
    MPI_Win win;
    start(&argc, &argv);
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    *base = -1;
    MPI_Barrier(MPI_COMM_WORLD);
    /* One rank after the other. */
    if (world_rank > 0) MPI_Recv(&token, 1, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    value = 30 + world_rank;
    CHECK_CALL(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, MPI_MODE_NOCHECK, win));
    CHECK_CALL(MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, win));
    CHECK_CALL(MPI_Win_unlock(right, win));
    CHECK_CALL(MPI_Win_lock(MPI_LOCK_SHARED, right, MPI_MODE_NOCHECK, win));
    CHECK_CALL(MPI_Get(&token, 1, MPI_INT, right, 0, 1, MPI_INT, win));
    CHECK_CALL(MPI_Win_unlock(right, win));
    CHECK_INT(token, value);
    if (right > 0) MPI_Send(&token, 1, MPI_INT, right, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    CHECK_CALL(MPI_Get(&token, 1, MPI_INT, world_rank, 0, 1, MPI_INT, win));
    CHECK_CALL(MPI_Win_unlock_all(win));
    CHECK_INT(token, 30 + left);
    MPI_Win_free(&win);
    return finish();
}
