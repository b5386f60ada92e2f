/* ranks: 1 2 3 */
/* MPI 5.0 section 12.3: every operation with counts has a form with MPI_Count; it does the same. */
#include "check.h"

int main(int argc, char **argv)
{
    int *base, got[2] = {0}, old[2] = {0};
    MPI_Count two = 2;
    MPI_Request request;
    MPI_Win win;
    start(&argc, &argv);
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    int values[2] = {10 * world_rank, 10 * world_rank + 1}, ones[2] = {1, 1};
    MPI_Win_allocate_c(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_fence(0, win);
    CHECK_CALL(MPI_Put_c(values, two, MPI_INT, right, 1, two, MPI_INT, win));
    MPI_Win_fence(0, win);
    CHECK_INT(base[2], 10 * left + 1);
    CHECK_CALL(MPI_Get_c(got, two, MPI_INT, right, 1, two, MPI_INT, win));
    MPI_Win_fence(0, win);
    CHECK_BYTES(got, values, sizeof got);
    CHECK_CALL(MPI_Accumulate_c(ones, two, MPI_INT, right, 1, two, MPI_INT, MPI_SUM, win));
    MPI_Win_fence(0, win);
    CHECK_INT(base[1], 10 * left + 1);
    MPI_Win_fence(0, win);
    CHECK_CALL(MPI_Get_accumulate_c(ones, two, MPI_INT, old, two, MPI_INT, right, 1, two, MPI_INT,
                                    MPI_SUM, win));
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK_INT(old[1], values[1] + 1);
    CHECK_INT(base[1], 10 * left + 2);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    CHECK_CALL(MPI_Rput_c(values, two, MPI_INT, right, 1, two, MPI_INT, win, &request));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_flush(right, win);
    CHECK_CALL(MPI_Rget_c(got, two, MPI_INT, right, 1, two, MPI_INT, win, &request));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_BYTES(got, values, sizeof got);
    CHECK_CALL(MPI_Raccumulate_c(ones, two, MPI_INT, right, 1, two, MPI_INT, MPI_SUM, win,
                                 &request));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_CALL(MPI_Rget_accumulate_c(ones, two, MPI_INT, old, two, MPI_INT, right, 1, two, MPI_INT,
                                     MPI_SUM, win, &request));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_INT(old[0], values[0] + 1);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    return finish();
}
