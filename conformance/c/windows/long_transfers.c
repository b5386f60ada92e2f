/* ranks: 2 3 */
/* MPI 5.0 section 12.3: there is no limit to an operation's size other than the window: 8 MiB by
 * put, get and accumulate, to windows of both kinds. */
#include "check.h"

enum { COUNT = 1 << 20 };

int main(int argc, char **argv)
{
    start(&argc, &argv);
    double *values = malloc(COUNT * sizeof *values), *got = malloc(COUNT * sizeof *got);
    double *own = malloc(COUNT * sizeof *own);
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    for (int kind = 0; kind < 2; kind++) {
        double *base = own;
        MPI_Win win;
        MPI_Aint bytes = COUNT * (MPI_Aint)sizeof *own;
        if (kind == 0)
            MPI_Win_create(own, bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        else
            MPI_Win_allocate(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        for (int i = 0; i < COUNT; i++) base[i] = -1, values[i] = world_rank + i;
        MPI_Win_fence(0, win);
        CHECK_CALL(MPI_Put(values, COUNT, MPI_DOUBLE, right, 0, COUNT, MPI_DOUBLE, win));
        MPI_Win_fence(0, win);
        int wrong = 0;
        for (int i = 0; i < COUNT; i++) wrong += base[i] != left + i;
        CHECK_INT(wrong, 0);
        MPI_Win_fence(0, win);
        CHECK_CALL(MPI_Get(got, COUNT, MPI_DOUBLE, right, 0, COUNT, MPI_DOUBLE, win));
        MPI_Win_fence(0, win);
        CHECK_BYTES(got, values, COUNT * sizeof *got);
        CHECK_CALL(MPI_Accumulate(values, COUNT, MPI_DOUBLE, right, 0, COUNT, MPI_DOUBLE, MPI_SUM,
                                  win));
        MPI_Win_fence(0, win);
        for (int i = wrong = 0; i < COUNT; i++) wrong += base[i] != 2.0 * (left + i);
        CHECK_INT(wrong, 0);
        MPI_Win_free(&win);
    }
    free(values), free(got), free(own);
    return finish();
}
