/* ranks: 1 2 */
/* MPI 5.0 section 12.6.2: MPI_WIN_NULL is MPI_ERR_WIN in every call that needs a window; without a
 * window the error is raised on MPI_COMM_SELF. */
#include "check.h"

int main(int argc, char **argv)
{
    int data = 0, flag, length;
    char name[MPI_MAX_OBJECT_NAME];
    void *value;
    MPI_Win none = MPI_WIN_NULL;
    MPI_Group group;
    MPI_Info info;
    start(&argc, &argv);
    errors_return();
    CHECK_CLASS(MPI_Put(&data, 1, MPI_INT, 0, 0, 1, MPI_INT, none), MPI_ERR_WIN);
    CHECK_CLASS(MPI_Get(&data, 1, MPI_INT, 0, 0, 1, MPI_INT, none), MPI_ERR_WIN);
    CHECK_CLASS(MPI_Accumulate(&data, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, none), MPI_ERR_WIN);
    CHECK_CLASS(MPI_Win_fence(0, none), MPI_ERR_WIN);
    CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, none), MPI_ERR_WIN);
    CHECK_CLASS(MPI_Win_unlock(0, none), MPI_ERR_WIN);
    CHECK_CLASS(MPI_Win_lock_all(0, none), MPI_ERR_WIN);
    CHECK_CLASS(MPI_Win_flush_all(none), MPI_ERR_WIN);
    CHECK_CLASS(MPI_Win_sync(none), MPI_ERR_WIN);
    CHECK_CLASS(MPI_Win_wait(none), MPI_ERR_WIN);
    CHECK_CLASS(MPI_Win_get_group(none, &group), MPI_ERR_WIN);
    CHECK_CLASS(MPI_Win_get_info(none, &info), MPI_ERR_WIN);
    CHECK_CLASS(MPI_Win_get_attr(none, MPI_WIN_BASE, &value, &flag), MPI_ERR_WIN);
    CHECK_CLASS(MPI_Win_set_name(none, "x"), MPI_ERR_WIN);
    CHECK_CLASS(MPI_Win_free(&none), MPI_ERR_WIN);
    (void)name, (void)length;
    return finish();
}
