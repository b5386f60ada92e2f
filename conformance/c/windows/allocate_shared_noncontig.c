/* ranks: 1 2 4 */
/* MPI 5.0 section 12.2.3: with alloc_shared_noncontig = true the segments may lie anywhere, so each
 * is found by MPI_Win_shared_query. MPI_PROC_NULL asks for the segment of the lowest rank that
 * gave a size above 0. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Comm host;
    MPI_Info info;
    MPI_Win win;
    double *mine;
    int rank, size;
    start(&argc, &argv);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &rank);
    MPI_Comm_size(host, &size);
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", "true");
    int first = size > 1 ? 1 : 0;
    MPI_Aint count = rank < first ? 0 : 10 + rank;
    CHECK_CALL(MPI_Win_allocate_shared(count * (MPI_Aint)sizeof(double), sizeof(double), info, host,
                                       &mine, &win));
    MPI_Info_free(&info);
    MPI_Win_fence(0, win);
    for (MPI_Aint i = 0; i < count; i++) mine[i] = rank + i / 16.0;
    MPI_Win_fence(0, win);
    for (int i = -1; i < size; i++) {
        MPI_Aint bytes = -1;
        int unit = -1, owner = i < 0 ? first : i;
        double *base = (double *)&bytes;
        CHECK_CALL(MPI_Win_shared_query(win, i < 0 ? MPI_PROC_NULL : i, &bytes, &unit, &base));
        CHECK_INT(bytes, owner < first ? 0 : (10 + owner) * sizeof(double));
        if (bytes == 0) {
            CHECK(base == NULL);
            continue;
        }
        CHECK_INT(unit, sizeof(double));
        CHECK_DOUBLE(base[0], owner);
        CHECK_DOUBLE(base[9], owner + 9 / 16.0);
    }
    MPI_Win_fence(0, win);
    /* The operations work on such a window as on any other. */
    double got = -1;
    MPI_Get(&got, 1, MPI_DOUBLE, size - 1, 2, 1, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    CHECK_DOUBLE(got, size - 1 + 2 / 16.0);
    MPI_Win_free(&win);
    MPI_Comm_free(&host);
    return finish();
}
