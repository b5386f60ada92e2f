/* ranks: 2 */
/* MPI 5.0 section 12.2.4: any number of disjoint regions may be attached, in any order, and every
 * process may attach while others communicate: attaching is not collective. */
#include "check.h"

enum { REGIONS = 60, INTS = 50 };

int main(int argc, char **argv)
{
    int *regions[REGIONS];
    MPI_Aint address[REGIONS];
    MPI_Win win;
    start(&argc, &argv);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < REGIONS; i++) {
        if (world_rank == 1) {
            regions[i] = calloc(INTS, sizeof(int));
            CHECK_CALL(MPI_Win_attach(win, regions[i], INTS * sizeof(int)));
            MPI_Get_address(regions[i], &address[i]);
            MPI_Send(&address[i], 1, MPI_AINT, 0, i, MPI_COMM_WORLD);
        } else {
            MPI_Recv(&address[i], 1, MPI_AINT, 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            int values[INTS];
            for (int j = 0; j < INTS; j++) values[j] = INTS * i + j;
            CHECK_CALL(MPI_Put(values, INTS, MPI_INT, 1, address[i], INTS, MPI_INT, win));
            MPI_Win_flush_local(1, win);
        }
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 1) {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        for (int i = 0; i < REGIONS; i++)
            for (int j = 0; j < INTS; j++) CHECK_INT(regions[i][j], INTS * i + j);
        MPI_Win_unlock(1, win);
        for (int i = REGIONS - 1; i >= 0; i--) {
            CHECK_CALL(MPI_Win_detach(win, regions[i]));
            free(regions[i]);
        }
    }
    MPI_Win_free(&win);
    return finish();
}
