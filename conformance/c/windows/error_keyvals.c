/* ranks: 1 */
/* MPI 5.0 sections 7.7.3 and 12.2.6: keys of other objects are MPI_ERR_KEYVAL on a
 * window, and the predefined attributes cannot be changed or deleted. */
#include "check.h"

int main(int argc, char **argv)
{
    int data = 0, of_comm, key, flag;
    void *value;
    MPI_Win win;
    start(&argc, &argv);
    errors_return();
    MPI_Win_create(&data, sizeof data, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &of_comm, NULL);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key, NULL);
    CHECK_CLASS(MPI_Win_set_attr(win, of_comm, &data), MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Win_get_attr(win, of_comm, &value, &flag), MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Win_set_attr(win, MPI_KEYVAL_INVALID, &data), MPI_ERR_KEYVAL);
    CHECK(MPI_Win_set_attr(win, MPI_WIN_SIZE, &data) != MPI_SUCCESS);
    CHECK(MPI_Win_delete_attr(win, MPI_WIN_BASE) != MPI_SUCCESS);
    MPI_Win_free_keyval(&key);
    MPI_Comm_free_keyval(&of_comm);
    MPI_Win_free(&win);
    return finish();
}
