/* ranks: 1 2 */
/* expect: fatal MPI_Put rank */
/* MPI 5.0 section 12.6.1: the default handler of a window is MPI_ERRORS_ARE_FATAL. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Win win;
    int data = 0;
    start(&argc, &argv);
    MPI_Win_create(&data, sizeof data, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&data, 1, MPI_INT, world_size + 3, 0, 1, MPI_INT, win);
    printf("not-reached\n");
    return finish();
}
