/* ranks: 1 2 */
/* MPI 5.0 section 7.8: a window has a name, empty at first; leading and embedded blanks count and
 * the last name set is the one returned, with its length. */
#include "check.h"

int main(int argc, char **argv)
{
    char name[MPI_MAX_OBJECT_NAME] = "?", data[8], longest[MPI_MAX_OBJECT_NAME];
    int length = -1;
    MPI_Win win;
    start(&argc, &argv);
    MPI_Win_create(data, sizeof data, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    CHECK_CALL(MPI_Win_get_name(win, name, &length));
    CHECK_INT(length, 0);
    CHECK_STRING(name, "");
    CHECK_CALL(MPI_Win_set_name(win, "  a view"));
    CHECK_CALL(MPI_Win_get_name(win, name, &length));
    CHECK_INT(length, 8);
    CHECK_STRING(name, "  a view");
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    CHECK_CALL(MPI_Win_set_name(win, longest));
    CHECK_CALL(MPI_Win_get_name(win, name, &length));
    CHECK_INT(length, MPI_MAX_OBJECT_NAME - 1);
    CHECK_STRING(name, longest);
    MPI_Win_free(&win);
    return finish();
}
