/* ranks: 1 2 4 */
/* MPI 5.0 section 12.2.3: the segments of a shared window are contiguous over the ranks unless the
 * info key says otherwise: the first byte of rank i follows the last byte of rank i-1.
 * MPI_Win_shared_query gives size, unit and an address in this process, and stores through it are
 * seen by the owner after synchronisation. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Comm host;
    MPI_Win win;
    int *mine, *before = NULL, rank, size;
    start(&argc, &argv);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &rank);
    MPI_Comm_size(host, &size);
    MPI_Aint bytes = (MPI_Aint)sizeof(int) * (rank + 1);
    CHECK_CALL(MPI_Win_allocate_shared(bytes, sizeof(int), MPI_INFO_NULL, host, &mine, &win));
    int *flavour, flag;
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavour, &flag);
    CHECK_INT(flag, 1);
    CHECK_INT(*flavour, MPI_WIN_FLAVOR_SHARED);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    for (int i = 0; i < size; i++) {
        MPI_Aint found = -1;
        int unit = -1, *base = NULL;
        CHECK_CALL(MPI_Win_shared_query(win, i, &found, &unit, &base));
        CHECK_INT(found, sizeof(int) * (i + 1));
        CHECK_INT(unit, sizeof(int));
        if (i == rank) CHECK(base == mine);
        if (i > 0) CHECK(base == before + i);
        before = base;
        base[i] = -7;
    }
    MPI_Win_sync(win);
    MPI_Barrier(host);
    MPI_Win_sync(win);
    /* Each rank stores into the last element of its right neighbour's segment. */
    int right = (rank + 1) % size, unit, *base;
    MPI_Aint found;
    MPI_Win_shared_query(win, right, &found, &unit, &base);
    base[right] = 1000 + rank;
    MPI_Win_sync(win);
    MPI_Barrier(host);
    MPI_Win_sync(win);
    CHECK_INT(mine[rank], 1000 + (rank + size - 1) % size);
    MPI_Win_unlock_all(win);
    CHECK_CALL(MPI_Win_free(&win));
    MPI_Comm_free(&host);
    return finish();
}
