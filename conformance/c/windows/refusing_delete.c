/* ranks: 1 */
/* MPI 5.0 section 7.7.3: a delete function that does not return MPI_SUCCESS makes the call
 * erroneous: MPI_Win_delete_attr fails and the attribute stays. */
#include "check.h"

static int willing = 0, calls = 0;

static int refuse(MPI_Win win, int keyval, void *value, void *extra)
{
    (void)win;
    (void)keyval;
    (void)value;
    (void)extra;
    calls++;
    return willing ? MPI_SUCCESS : MPI_ERR_OTHER;
}

int main(int argc, char **argv)
{
    int key, flag, data = 3, *value;
    MPI_Win win;
    start(&argc, &argv);
    MPI_Win_create(&data, sizeof data, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, refuse, &key, NULL);
    MPI_Win_set_attr(win, key, &data);
    CHECK(MPI_Win_delete_attr(win, key) != MPI_SUCCESS);
    CHECK_INT(calls, 1);
    MPI_Win_get_attr(win, key, &value, &flag);
    CHECK(flag == 1 && value == &data);
    willing = 1;
    CHECK_CALL(MPI_Win_delete_attr(win, key));
    CHECK_INT(calls, 2);
    MPI_Win_free_keyval(&key);
    CHECK_CALL(MPI_Win_free(&win));
    return finish();
}
