/* ranks: 1 2 */
/* MPI 5.0 section 12.3: MPI_PROC_NULL is a valid target of every operation and does nothing; it
 * still needs an epoch, and the epoch must be synchronised as any other. Request forms give a
 * request that completes. */
#include "check.h"

int main(int argc, char **argv)
{
    int data[2] = {7, 8}, got = 5, old = 6, none = MPI_PROC_NULL;
    MPI_Request requests[4];
    MPI_Status status;
    MPI_Win win;
    start(&argc, &argv);
    MPI_Win_create(data, sizeof data, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_fence(0, win);
    CHECK_CALL(MPI_Put(&got, 1, MPI_INT, none, 0, 1, MPI_INT, win));
    CHECK_CALL(MPI_Get(&got, 1, MPI_INT, none, 0, 1, MPI_INT, win));
    CHECK_CALL(MPI_Accumulate(&got, 1, MPI_INT, none, 0, 1, MPI_INT, MPI_SUM, win));
    CHECK_CALL(MPI_Get_accumulate(&got, 1, MPI_INT, &old, 1, MPI_INT, none, 0, 1, MPI_INT, MPI_SUM,
                                  win));
    CHECK_CALL(MPI_Fetch_and_op(&got, &old, MPI_INT, none, 0, MPI_SUM, win));
    CHECK_CALL(MPI_Compare_and_swap(&got, &got, &old, MPI_INT, none, 0, win));
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK_CALL(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, none, 0, win));
    CHECK_CALL(MPI_Put(&got, 1, MPI_INT, none, 0, 1, MPI_INT, win));
    CHECK_CALL(MPI_Win_flush(none, win));
    CHECK_CALL(MPI_Win_flush_local(none, win));
    CHECK_CALL(MPI_Win_unlock(none, win));
    CHECK_CALL(MPI_Win_lock_all(0, win));
    CHECK_CALL(MPI_Rput(&got, 1, MPI_INT, none, 0, 1, MPI_INT, win, &requests[0]));
    CHECK_CALL(MPI_Rget(&got, 1, MPI_INT, none, 0, 1, MPI_INT, win, &requests[1]));
    CHECK_CALL(MPI_Raccumulate(&got, 1, MPI_INT, none, 0, 1, MPI_INT, MPI_SUM, win, &requests[2]));
    CHECK_CALL(MPI_Rget_accumulate(&got, 1, MPI_INT, &old, 1, MPI_INT, none, 0, 1, MPI_INT,
                                   MPI_SUM, win, &requests[3]));
    for (int i = 0; i < 4; i++) CHECK_CALL(MPI_Wait(&requests[i], &status));
    CHECK_CALL(MPI_Win_unlock_all(win));
    CHECK(data[0] == 7 && data[1] == 8 && got == 5 && old == 6);
    MPI_Win_free(&win);
    return finish();
}
