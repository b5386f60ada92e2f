/* ranks: 1 2 3 */
/* MPI 5.0 section 12.3.4: in accumulates the datatypes may be derived, all of one predefined type,
 * and different on the three sides; elements correspond in the order of the type maps. */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Datatype even, backwards, pairs;
    int places[4] = {9, 6, 3, 0};
    MPI_Type_vector(4, 1, 2, MPI_DOUBLE, &even);
    MPI_Type_create_indexed_block(4, 1, places, MPI_DOUBLE, &backwards);
    MPI_Type_create_hvector(2, 2, 5 * sizeof(double), MPI_DOUBLE, &pairs);
    MPI_Type_commit(&even), MPI_Type_commit(&backwards), MPI_Type_commit(&pairs);
    for (int kind = 0; kind < 2; kind++) {
        static double own[12];
        double *base = own, values[8], got[8];
        MPI_Win win;
        if (kind == 0)
            MPI_Win_create(own, sizeof own, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        else
            MPI_Win_allocate(sizeof own, sizeof *own, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        for (int i = 0; i < 12; i++) base[i] = i;
        for (int i = 0; i < 8; i++) values[i] = i, got[i] = -1;
        MPI_Win_fence(0, win);
        CHECK_CALL(MPI_Accumulate(values, 1, even, 0, 1, 1, backwards, MPI_SUM, win));
        MPI_Win_fence(0, win);
        /* Elements 0, 2, 4, 6 of the origin went to places 10, 7, 4, 1. */
        for (int i = 0; world_rank == 0 && i < 12; i++)
            CHECK_DOUBLE(base[i], i % 3 == 1 ? i + world_size * 2 * (3 - (i - 1) / 3) : i);
        MPI_Win_fence(0, win);
        if (world_rank == world_size - 1)
            CHECK_CALL(MPI_Get_accumulate(values, 4, MPI_DOUBLE, got, 1, pairs, 0, 1, 1, backwards,
                                          MPI_REPLACE, win));
        MPI_Win_fence(0, win);
        if (world_rank == world_size - 1) {
            CHECK_DOUBLE(got[0], 10);
            CHECK_DOUBLE(got[1], 7 + 2 * world_size);
            CHECK_DOUBLE(got[2], -1);
            CHECK_DOUBLE(got[5], 4 + 4 * world_size);
            CHECK_DOUBLE(got[6], 1 + 6 * world_size);
        }
        if (world_rank == 0) {
            CHECK_DOUBLE(base[10], 0);
            CHECK_DOUBLE(base[7], 1);
            CHECK_DOUBLE(base[1], 3);
            CHECK_DOUBLE(base[2], 2);
        }
        MPI_Win_free(&win);
    }
    MPI_Type_free(&even), MPI_Type_free(&backwards), MPI_Type_free(&pairs);
    return finish();
}
