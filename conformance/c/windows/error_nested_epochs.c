/* ranks: 2 */
/* skip-mpich: an unlock of a rank that is not locked trips an assertion inside it */
/* MPI 5.0 sections 12.5 and 12.6.2: access epochs of one window at one process are disjoint: a lock
 * of a target that is locked already, lock_all in a lock, fence, start or free inside a lock, and
 * an unlock of another rank are MPI_ERR_RMA_SYNC; an operation to a target that is not locked too.
 * The open epoch goes on. */
#include "check.h"

int main(int argc, char **argv)
{
    int data = 3, value = 5;
    MPI_Group group;
    MPI_Win win, same;
    start(&argc, &argv);
    MPI_Win_create(&data, sizeof data, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_get_group(win, &group);
    same = win;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_start(group, 0, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_unlock(1, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_free(&same), MPI_ERR_RMA_SYNC);
    CHECK_CALL(MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win));
    CHECK_CALL(MPI_Win_unlock(0, win));
    CHECK_CALL(MPI_Win_lock_all(0, win));
    CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_unlock(0, win), MPI_ERR_RMA_SYNC);
    CHECK_CALL(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_unlock(0, win);
    CHECK_INT(value, 13);
    MPI_Group_free(&group);
    CHECK_CALL(MPI_Win_free(&win));
    return finish();
}
