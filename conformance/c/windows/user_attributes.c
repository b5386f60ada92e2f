/* ranks: 1 2 */
/* MPI 5.0 section 7.7.3: windows cache attributes; the delete function runs when one is
 * overwritten, deleted, or its window is freed. A freed key lives on where it is used. */
#include "check.h"

static int deletes = 0, last = -1;
static MPI_Win seen;

static int forget(MPI_Win win, int keyval, void *value, void *extra)
{
    (void)keyval;
    CHECK_INT(*(int *)extra, 7);
    deletes++;
    last = *(int *)value;
    seen = win;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    static int values[3] = {10, 11, 12}, extra = 7;
    int key, plain, flag = -1, *value = NULL, data;
    MPI_Win win;
    start(&argc, &argv);
    MPI_Win_create(&data, sizeof data, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    CHECK_CALL(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, forget, &key, &extra));
    CHECK_CALL(MPI_Win_create_keyval(MPI_WIN_DUP_FN, MPI_WIN_NULL_DELETE_FN, &plain, NULL));
    CHECK_CALL(MPI_Win_get_attr(win, key, &value, &flag));
    CHECK_INT(flag, 0);
    CHECK_CALL(MPI_Win_set_attr(win, key, &values[0]));
    CHECK_CALL(MPI_Win_set_attr(win, plain, &values[2]));
    MPI_Win_get_attr(win, key, &value, &flag);
    CHECK(flag == 1 && value == &values[0]);
    MPI_Win_get_attr(win, plain, &value, &flag);
    CHECK(flag == 1 && value == &values[2]);
    CHECK_CALL(MPI_Win_set_attr(win, key, &values[1]));
    CHECK(deletes == 1 && last == 10 && seen == win);
    CHECK_CALL(MPI_Win_delete_attr(win, key));
    CHECK(deletes == 2 && last == 11);
    MPI_Win_get_attr(win, key, &value, &flag);
    CHECK_INT(flag, 0);
    CHECK_CALL(MPI_Win_set_attr(win, key, &values[2]));
    CHECK_CALL(MPI_Win_free_keyval(&key));
    CHECK_INT(key, MPI_KEYVAL_INVALID);
    MPI_Win was = win;
    MPI_Win_free(&win);
    CHECK(deletes == 3 && last == 12 && seen == was);
    MPI_Win_free_keyval(&plain);
    return finish();
}
