/* ranks: 1 2 4 */
/* MPI 5.0 section 12.2.1: the displacement is scaled by the unit that the target gave; each rank
 * gives another one. */
#include "check.h"

int main(int argc, char **argv)
{
    static char own[256];
    static const int units[4] = {1, 8, 3, 2};
    start(&argc, &argv);
    MPI_Win win;
    memset(own, 0, sizeof own);
    MPI_Win_create(own, sizeof own, units[world_rank], MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    char marks[4];
    for (int rank = 0; rank < world_size; rank++) {
        marks[rank] = (char)(1 + world_rank);
        CHECK_CALL(MPI_Put(&marks[rank], 1, MPI_CHAR, rank, 20 + world_rank, 1, MPI_CHAR, win));
    }
    MPI_Win_fence(0, win);
    for (int i = 0; i < 256; i++) {
        int unit = units[world_rank], step = i / unit - 20;
        CHECK_INT(own[i], i % unit == 0 && step >= 0 && step < world_size ? step + 1 : 0);
    }
    MPI_Win_free(&win);
    return finish();
}
