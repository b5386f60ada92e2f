/* ranks: 1 2 */
/* MPI 5.0 section 12.2: the _c forms take and give the displacement unit as MPI_Aint. */
#include "check.h"

int main(int argc, char **argv)
{
    static long own[8];
    MPI_Aint size = -1, unit = -1, wanted = (MPI_Aint)sizeof(long);
    MPI_Comm host;
    MPI_Win win;
    long *base, *there = NULL;
    int rank, ranks;
    start(&argc, &argv);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &rank);
    MPI_Comm_size(host, &ranks);
    CHECK_CALL(MPI_Win_allocate_shared_c(64, wanted, MPI_INFO_NULL, host, &base, &win));
    CHECK_CALL(MPI_Win_shared_query_c(win, rank, &size, &unit, &there));
    CHECK_INT(size, 64);
    CHECK_INT(unit, wanted);
    CHECK(there == base);
    MPI_Win_free(&win);
    for (int kind = 0; kind < 2; kind++) {
        if (kind == 0)
            CHECK_CALL(MPI_Win_allocate_c(64, wanted, MPI_INFO_NULL, host, &base, &win));
        else
            CHECK_CALL(MPI_Win_create_c(base = own, 64, wanted, MPI_INFO_NULL, host, &win));
        long value = 40 + rank;
        MPI_Win_fence(0, win);
        MPI_Put(&value, 1, MPI_LONG, (rank + 1) % ranks, 7, 1, MPI_LONG, win);
        MPI_Win_fence(0, win);
        CHECK_INT(base[7], 40 + (rank + ranks - 1) % ranks);
        MPI_Win_free(&win);
    }
    MPI_Comm_free(&host);
    return finish();
}
