/* ranks: 1 2 */
/* MPI 5.0 sections 9.3.2 and 12.6.1: a window's handler is MPI_ERRORS_ARE_FATAL at first, whatever
 * the communicator has; a user's handler gets the window and the code. */
#include "check.h"

static int calls = 0, code_seen = 0;
static MPI_Win win_seen;

static void on_error(MPI_Win *win, int *code, ...)
{
    calls++;
    win_seen = *win;
    code_seen = *code;
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler, found;
    MPI_Win win;
    int data = 0;
    start(&argc, &argv);
    errors_return();
    MPI_Win_create(&data, sizeof data, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    CHECK_CALL(MPI_Win_get_errhandler(win, &found));
    CHECK(found == MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&found);
    CHECK_CALL(MPI_Win_create_errhandler(on_error, &handler));
    CHECK_CALL(MPI_Win_set_errhandler(win, handler));
    CHECK_CALL(MPI_Win_get_errhandler(win, &found));
    CHECK(found == handler);
    MPI_Errhandler_free(&found);
    MPI_Errhandler_free(&handler);
    CHECK(handler == MPI_ERRHANDLER_NULL);
    CHECK_CALL(MPI_Win_call_errhandler(win, MPI_ERR_ARG));
    CHECK_INT(calls, 1);
    CHECK_INT(code_seen, MPI_ERR_ARG);
    CHECK(win_seen == win);
    MPI_Win_lock_all(0, win);
    MPI_Put(&data, 1, MPI_INT, world_size, 0, 1, MPI_INT, win);
    MPI_Win_unlock_all(win);
    CHECK_INT(calls, 2);
    CHECK_CLASS(code_seen, MPI_ERR_RANK);
    CHECK(win_seen == win);
    CHECK_CALL(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    CHECK_CLASS(MPI_Put(&data, 1, MPI_INT, world_size, 0, 1, MPI_INT, win), MPI_ERR_RANK);
    CHECK_INT(calls, 2);
    CHECK_CALL(MPI_Win_free(&win));
    return finish();
}
