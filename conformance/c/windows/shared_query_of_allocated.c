/* ranks: 1 2 4 */
/* MPI 5.0 section 12.2.3: MPI_Win_shared_query may be called on windows of MPI_Win_create and
 * MPI_Win_allocate too. Where the memory cannot be reached by load and store, the size is 0;
 * otherwise size, unit and address are as for a shared window. */
#include "check.h"

int main(int argc, char **argv)
{
    static int own[4];
    start(&argc, &argv);
    for (int kind = 0; kind < 2; kind++) {
        int *base = own;
        MPI_Win win;
        if (kind == 0)
            MPI_Win_create(own, sizeof own, sizeof *own, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        else
            MPI_Win_allocate(sizeof own, sizeof *own, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        MPI_Win_fence(0, win);
        for (int i = 0; i < 4; i++) base[i] = 10 * world_rank + i;
        MPI_Win_fence(0, win);
        for (int rank = 0; rank < world_size; rank++) {
            MPI_Aint size = -1;
            int unit = -1, *there = NULL;
            CHECK_CALL(MPI_Win_shared_query(win, rank, &size, &unit, &there));
            CHECK(size == 0 || size == (MPI_Aint)sizeof own);
            if (size == 0) continue;
            CHECK_INT(unit, sizeof *own);
            CHECK_INT(there[3], 10 * rank + 3);
        }
        MPI_Win_fence(0, win);
        MPI_Win_free(&win);
    }
    return finish();
}
