/* ranks: 2 4 */
/* MPI 5.0 section 12.5: a window may be used with fences, then with locks, then with post and
 * start, and messages and collectives go on beside all of them. */
#include "check.h"

int main(int argc, char **argv)
{
    int *base, value, got, sum, one = 1;
    MPI_Group world, next, previous;
    MPI_Win win;
    start(&argc, &argv);
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_get_group(win, &world);
    MPI_Group_incl(world, 1, &right, &next);
    MPI_Group_incl(world, 1, &left, &previous);
    for (int round = 0; round < 20; round++) {
        *base = 0;
        MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
        value = 10 * round + world_rank;
        MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, win);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        CHECK_INT(sum, world_size);
        CHECK_INT(*base, 10 * round + left);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win);
        MPI_Accumulate(&one, 1, MPI_INT, right, 0, 1, MPI_INT, MPI_SUM, win);
        MPI_Sendrecv(&value, 1, MPI_INT, right, 1, &got, 1, MPI_INT, left, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        CHECK_INT(got, 10 * round + left);
        MPI_Win_unlock(right, win);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_post(previous, 0, win);
        MPI_Win_start(next, 0, win);
        MPI_Get(&got, 1, MPI_INT, right, 0, 1, MPI_INT, win);
        MPI_Win_complete(win);
        MPI_Win_wait(win);
        CHECK_INT(got, value + 1);
    }
    MPI_Group_free(&next), MPI_Group_free(&previous), MPI_Group_free(&world);
    MPI_Win_free(&win);
    return finish();
}
