/* ranks: 1 2 */
/* MPI 5.0 section 12.3: a count of zero is valid, also at the end of the window and on a window
 * without memory, and moves nothing. */
#include "check.h"

int main(int argc, char **argv)
{
    int data[2] = {1, 2};
    MPI_Win win, empty;
    start(&argc, &argv);
    MPI_Win_create(data, sizeof data, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &empty);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_set_errhandler(empty, MPI_ERRORS_RETURN);
    MPI_Win_fence(0, win);
    MPI_Win_fence(0, empty);
    int last = world_size - 1;
    CHECK_CALL(MPI_Put(NULL, 0, MPI_INT, last, 0, 0, MPI_INT, win));
    CHECK_CALL(MPI_Get(NULL, 0, MPI_INT, last, 2, 0, MPI_INT, win));
    CHECK_CALL(MPI_Accumulate(NULL, 0, MPI_INT, last, 0, 0, MPI_INT, MPI_SUM, win));
    CHECK_CALL(MPI_Put(data, 0, MPI_INT, last, 0, 0, MPI_INT, empty));
    CHECK_CALL(MPI_Get(data, 0, MPI_INT, last, 0, 0, MPI_INT, empty));
    MPI_Win_fence(0, win);
    MPI_Win_fence(0, empty);
    CHECK(data[0] == 1 && data[1] == 2);
    MPI_Win_free(&empty);
    MPI_Win_free(&win);
    return finish();
}
