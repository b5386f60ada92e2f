/* ranks: 1 2 */
/* skip-mpich: lock types and assertions are MPI_ERR_UNKNOWN, a null group MPI_ERR_OP */
/* MPI 5.0 section 12.6.2: MPI_ERR_LOCKTYPE for an unknown kind of lock, MPI_ERR_ASSERT for an
 * assertion that does not exist, MPI_ERR_RANK for a rank outside of the window. */
#include "check.h"

int main(int argc, char **argv)
{
    int data = 0;
    MPI_Win win;
    start(&argc, &argv);
    MPI_Win_create(&data, sizeof data, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Win_lock(12345, 0, 0, win), MPI_ERR_LOCKTYPE);
    CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, world_size, 0, win), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 1 << 20, win), MPI_ERR_ASSERT);
    CHECK_CLASS(MPI_Win_lock_all(1 << 20, win), MPI_ERR_ASSERT);
    CHECK_CLASS(MPI_Win_fence(1 << 20, win), MPI_ERR_ASSERT);
    CHECK_CLASS(MPI_Win_post(MPI_GROUP_EMPTY, 1 << 20, win), MPI_ERR_ASSERT);
    CHECK_CLASS(MPI_Win_start(MPI_GROUP_EMPTY, 1 << 20, win), MPI_ERR_ASSERT);
    CHECK_CLASS(MPI_Win_post(MPI_GROUP_NULL, 0, win), MPI_ERR_GROUP);
    CHECK_CLASS(MPI_Win_start(MPI_GROUP_NULL, 0, win), MPI_ERR_GROUP);
    CHECK_CALL(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    CHECK_CLASS(MPI_Win_flush(world_size, win), MPI_ERR_RANK);
    CHECK_CALL(MPI_Win_unlock(0, win));
    MPI_Win_free(&win);
    return finish();
}
