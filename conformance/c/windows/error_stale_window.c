/* ranks: 1 2 */
/* skip-mpich: it looks into freed objects; the standard does not ask for more */
/* MPI 5.0 section 2.5.1: a handle is invalid after its object is freed; a library that finds it
 * out says MPI_ERR_WIN. The same for handles of other kinds where a window is wanted. */
#include "check.h"

int main(int argc, char **argv)
{
    int data = 0, key, freed;
    MPI_Win win, stale;
    start(&argc, &argv);
    errors_return();
    MPI_Win_create(&data, sizeof data, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    stale = win;
    MPI_Win_free(&win);
    CHECK_CLASS(MPI_Put(&data, 1, MPI_INT, 0, 0, 1, MPI_INT, stale), MPI_ERR_WIN);
    CHECK_CLASS(MPI_Win_fence(0, stale), MPI_ERR_WIN);
    CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, stale), MPI_ERR_WIN);
    CHECK_CLASS(MPI_Win_free(&stale), MPI_ERR_WIN);
    CHECK_CLASS(MPI_Win_fence(0, (MPI_Win)MPI_COMM_WORLD), MPI_ERR_WIN);
    CHECK_CLASS(MPI_Win_fence(0, (MPI_Win)MPI_INT), MPI_ERR_WIN);
    MPI_Win_create(&data, sizeof data, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    CHECK(win != stale);
    CHECK_CLASS(MPI_Win_fence(0, stale), MPI_ERR_WIN);
    CHECK_CALL(MPI_Win_fence(0, win));
    CHECK_CALL(MPI_Win_free(&win));
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key, NULL);
    freed = key;
    MPI_Win_free_keyval(&key);
    CHECK_CLASS(MPI_Win_free_keyval(&freed), MPI_ERR_KEYVAL);
    return finish();
}
