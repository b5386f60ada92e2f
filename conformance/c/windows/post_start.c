/* ranks: 2 4 */
/* MPI 5.0 section 12.5.2: a target exposes its window to a group by post, the members access it
 * between start and complete, and wait returns when all have completed; then the data are there. A
 * process may be origin and target at once. */
#include "check.h"

int main(int argc, char **argv)
{
    int *base, values[4];
    MPI_Win win;
    MPI_Group world, next, previous;
    start(&argc, &argv);
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    MPI_Win_allocate(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_get_group(win, &world);
    MPI_Group_incl(world, 1, &right, &next);
    MPI_Group_incl(world, 1, &left, &previous);
    for (int round = 0; round < 50; round++) {
        int nocheck = round % 2 ? MPI_MODE_NOPUT : 0;
        for (int i = 0; i < 4; i++) base[i] = -1, values[i] = 1000 * round + 10 * world_rank + i;
        CHECK_CALL(MPI_Win_post(previous, MPI_MODE_NOSTORE, win));
        CHECK_CALL(MPI_Win_start(next, 0, win));
        CHECK_CALL(MPI_Put(values, 4, MPI_INT, right, 0, 4, MPI_INT, win));
        CHECK_CALL(MPI_Win_complete(win));
        values[0] = -3;
        CHECK_CALL(MPI_Win_wait(win));
        for (int i = 0; i < 4; i++) CHECK_INT(base[i], 1000 * round + 10 * left + i);
        /* The same again as a get; NOPUT is true for it. */
        int got = -1;
        CHECK_CALL(MPI_Win_post(previous, nocheck, win));
        CHECK_CALL(MPI_Win_start(next, 0, win));
        CHECK_CALL(MPI_Get(&got, 1, MPI_INT, right, 3, 1, MPI_INT, win));
        CHECK_CALL(MPI_Win_complete(win));
        CHECK_INT(got, 1000 * round + 10 * world_rank + 3);
        CHECK_CALL(MPI_Win_wait(win));
    }
    MPI_Group_free(&next), MPI_Group_free(&previous), MPI_Group_free(&world);
    MPI_Win_free(&win);
    return finish();
}
