/* ranks: 2 3 */
/* MPI 5.0 section 12.5.2: MPI_Win_test is the nonblocking wait: false while an origin has not
 * completed, true once, with the effect of wait. */
#include "check.h"

int main(int argc, char **argv)
{
    int data = 0, flag = -1, one = 1, token = 0;
    MPI_Win win;
    MPI_Group world, root, others;
    start(&argc, &argv);
    MPI_Win_create(&data, sizeof data, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_get_group(win, &world);
    int zero = 0;
    MPI_Group_incl(world, 1, &zero, &root);
    MPI_Group_excl(world, 1, &zero, &others);
    if (world_rank == 0) {
        CHECK_CALL(MPI_Win_post(others, 0, win));
        /* Nobody may complete before this message. */
        CHECK_CALL(MPI_Win_test(win, &flag));
        CHECK_INT(flag, 0);
        for (int i = 1; i < world_size; i++) MPI_Send(&token, 1, MPI_INT, i, 0, MPI_COMM_WORLD);
        while (!flag) CHECK_CALL(MPI_Win_test(win, &flag));
        CHECK_INT(data, world_size - 1);
    } else {
        MPI_Win_start(root, 0, win);
        MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
        MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Win_complete(win);
    }
    /* The exposure is over: a next one is allowed. */
    MPI_Win_post(MPI_GROUP_EMPTY, 0, win);
    MPI_Win_wait(win);
    MPI_Group_free(&root), MPI_Group_free(&others), MPI_Group_free(&world);
    MPI_Win_free(&win);
    return finish();
}
