/* ranks: 2 4 */
/* MPI 5.0 section 12.7: overlapping gets are free of conflict; so are overlapping accumulates with
 * the same operation, also when they overlap only in part. Windows may overlap in memory. */
#include "check.h"

enum { COUNT = 64, LENGTH = 40 };

int main(int argc, char **argv)
{
    static int own[COUNT];
    int ones[LENGTH], got[3][LENGTH], value = 5;
    MPI_Win win, inner;
    start(&argc, &argv);
    for (int i = 0; i < LENGTH; i++) ones[i] = 1;
    MPI_Win_create(own, sizeof own, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_create(own + 50, 10 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &inner);
    MPI_Win_fence(0, win);
    /* Rank r adds 1 to elements 3r to 3r + 39 of rank 0. */
    CHECK_CALL(MPI_Accumulate(ones, LENGTH, MPI_INT, 0, 3 * world_rank, LENGTH, MPI_INT, MPI_SUM,
                              win));
    MPI_Win_fence(0, win);
    for (int i = 0; i < 3; i++)
        CHECK_CALL(MPI_Get(got[i], LENGTH, MPI_INT, 0, 5 * i, LENGTH, MPI_INT, win));
    MPI_Win_fence(0, win);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < LENGTH; j++) {
            int wanted = 0;
            for (int rank = 0; rank < world_size; rank++)
                wanted += 5 * i + j >= 3 * rank && 5 * i + j < 3 * rank + LENGTH;
            CHECK_INT(got[i][j], wanted);
        }
    MPI_Win_fence(0, win);
    MPI_Win_fence(0, inner);
    if (world_rank == 1) MPI_Put(&value, 1, MPI_INT, 0, 4, 1, MPI_INT, inner);
    MPI_Win_fence(0, inner);
    if (world_rank == 1) MPI_Get(got[0], 1, MPI_INT, 0, 54, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    if (world_rank == 1) CHECK_INT(got[0][0], 5);
    MPI_Win_free(&inner);
    MPI_Win_free(&win);
    return finish();
}
