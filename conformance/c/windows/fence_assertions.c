/* ranks: 1 2 4 */
/* MPI 5.0 sections 12.5.1 and 12.5.5: fences with true assertions work as without them. After a
 * fence with MPI_MODE_NOSUCCEED no epoch is open, and a lock may follow. */
#include "check.h"

int main(int argc, char **argv)
{
    int data = -1, got = -1, value;
    MPI_Win win;
    start(&argc, &argv);
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    MPI_Win_create(&data, sizeof data, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    for (int round = 0; round < 20; round++) {
        CHECK_CALL(MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSTORE, win));
        value = 100 * round + world_rank;
        MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, win);
        CHECK_CALL(MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOPUT, win));
        CHECK_INT(data, 100 * round + left);
        MPI_Get(&got, 1, MPI_INT, right, 0, 1, MPI_INT, win);
        CHECK_CALL(MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOSUCCEED, win));
        CHECK_INT(got, value);
        CHECK_CALL(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
        MPI_Get(&got, 1, MPI_INT, right, 0, 1, MPI_INT, win);
        CHECK_CALL(MPI_Win_unlock(right, win));
        CHECK_INT(got, value);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_free(&win);
    return finish();
}
