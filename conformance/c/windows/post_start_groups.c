/* ranks: 2 4 */
/* MPI 5.0 section 12.5.2: groups of several processes in any order; a target with many origins, and
 * an origin with many targets; MPI_MODE_NOCHECK when the post is known to have happened; an empty
 * group is valid. */
#include "check.h"

int main(int argc, char **argv)
{
    int data[8] = {0}, order[8], value;
    MPI_Win win;
    MPI_Group world, root, others;
    start(&argc, &argv);
    MPI_Win_create(data, sizeof data, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_get_group(win, &world);
    order[0] = 0;
    MPI_Group_incl(world, 1, order, &root);
    for (int i = 1; i < world_size; i++) order[i - 1] = world_size - i;
    MPI_Group_incl(world, world_size - 1, order, &others);
    for (int round = 0; round < 20; round++) {
        value = 10 * round + world_rank;
        /* All others into rank 0. */
        if (world_rank == 0) {
            CHECK_CALL(MPI_Win_post(others, 0, win));
            CHECK_CALL(MPI_Win_wait(win));
            for (int i = 1; i < world_size; i++) CHECK_INT(data[i], 10 * round + i);
        } else {
            CHECK_CALL(MPI_Win_start(root, 0, win));
            MPI_Put(&value, 1, MPI_INT, 0, world_rank, 1, MPI_INT, win);
            CHECK_CALL(MPI_Win_complete(win));
        }
        /* Rank 0 into all others, which have surely posted. */
        if (world_rank != 0) CHECK_CALL(MPI_Win_post(root, MPI_MODE_NOCHECK, win));
        MPI_Barrier(MPI_COMM_WORLD);
        if (world_rank == 0) {
            CHECK_CALL(MPI_Win_start(others, MPI_MODE_NOCHECK, win));
            for (int i = 1; i < world_size; i++)
                MPI_Put(&value, 1, MPI_INT, i, 0, 1, MPI_INT, win);
            CHECK_CALL(MPI_Win_complete(win));
        } else {
            CHECK_CALL(MPI_Win_wait(win));
            CHECK_INT(data[0], 10 * round);
        }
        CHECK_CALL(MPI_Win_post(MPI_GROUP_EMPTY, 0, win));
        CHECK_CALL(MPI_Win_start(MPI_GROUP_EMPTY, 0, win));
        CHECK_CALL(MPI_Win_complete(win));
        CHECK_CALL(MPI_Win_wait(win));
    }
    MPI_Group_free(&root), MPI_Group_free(&others), MPI_Group_free(&world);
    MPI_Win_free(&win);
    return finish();
}
