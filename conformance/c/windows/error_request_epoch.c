/* ranks: 1 2 */
/* skip-mpich: it lets request forms run in a fence */
/* MPI 5.0 section 12.3.5: the request forms are valid in passive target epochs only: outside of any
 * epoch and in a fence they are MPI_ERR_RMA_SYNC, and no request comes of it. */
#include "check.h"

int main(int argc, char **argv)
{
    int data = 4, value = 5;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Win win;
    start(&argc, &argv);
    MPI_Win_create(&data, sizeof data, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Rput(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win, &request), MPI_ERR_RMA_SYNC);
    MPI_Win_fence(0, win);
    CHECK_CLASS(MPI_Rget(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win, &request), MPI_ERR_RMA_SYNC);
    MPI_Win_fence(0, win);
    CHECK(value == 5 && data == 4);
    MPI_Win_free(&win);
    return finish();
}
