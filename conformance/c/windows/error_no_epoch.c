/* ranks: 1 2 */
/* MPI 5.0 section 12.6.2: an operation outside of an epoch, and a call that ends an epoch that is
 * not open, is MPI_ERR_RMA_SYNC; nothing happens and the window works afterwards. */
#include "check.h"

int main(int argc, char **argv)
{
    int data = 3, value = 5, old;
    MPI_Win win;
    start(&argc, &argv);
    MPI_Win_create(&data, sizeof data, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win),
                MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Fetch_and_op(&value, &old, MPI_INT, 0, 0, MPI_SUM, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Compare_and_swap(&value, &value, &old, MPI_INT, 0, 0, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_unlock(0, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_wait(win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_test(win, &old), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_flush(0, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_flush_all(win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_flush_local(0, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_flush_local_all(win), MPI_ERR_RMA_SYNC);
    CHECK_INT(data, 3);
    MPI_Barrier(MPI_COMM_WORLD);
    int last = world_size - 1;
    CHECK_CALL(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last, 0, win));
    CHECK_CALL(MPI_Put(&value, 1, MPI_INT, last, 0, 1, MPI_INT, win));
    CHECK_CALL(MPI_Win_unlock(last, win));
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == last) CHECK_INT(data, 5);
    MPI_Win_free(&win);
    return finish();
}
