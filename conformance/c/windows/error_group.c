/* ranks: 2 3 */
/* skip-mpich: it waits for posts that cannot come; the standard leaves the check open */
/* MPI 5.0 section 12.5.2: the groups of post and start are subgroups of the window's group; others
 * are refused and open no epoch. A second start or post before the end of the first is
 * MPI_ERR_RMA_SYNC. */
#include "check.h"

int main(int argc, char **argv)
{
    int data = 0;
    MPI_Group world;
    MPI_Win win;
    start(&argc, &argv);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Win_create(&data, sizeof data, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    CHECK(MPI_Win_post(world, 0, win) != MPI_SUCCESS);
    CHECK(MPI_Win_start(world, 0, win) != MPI_SUCCESS);
    CHECK_CLASS(MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
    CHECK_CALL(MPI_Win_post(MPI_GROUP_EMPTY, 0, win));
    CHECK_CLASS(MPI_Win_post(MPI_GROUP_EMPTY, 0, win), MPI_ERR_RMA_SYNC);
    CHECK_CALL(MPI_Win_start(MPI_GROUP_EMPTY, 0, win));
    CHECK_CLASS(MPI_Win_start(MPI_GROUP_EMPTY, 0, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Put(&data, 1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
    CHECK_CALL(MPI_Win_complete(win));
    CHECK_CALL(MPI_Win_wait(win));
    MPI_Group_free(&world);
    CHECK_CALL(MPI_Win_free(&win));
    return finish();
}
