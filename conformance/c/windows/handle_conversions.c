/* ranks: 1 2 */
/* MPI 5.0 sections 19.3.4 and 20: a handle becomes an integer and the same handle again. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Win win;
    int data;
    start(&argc, &argv);
    MPI_Win_create(&data, sizeof data, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    CHECK(MPI_Win_fromint(MPI_Win_toint(win)) == win);
    CHECK(MPI_Win_fromint(MPI_Win_toint(MPI_WIN_NULL)) == MPI_WIN_NULL);
    MPI_Win_free(&win);
    return finish();
}
