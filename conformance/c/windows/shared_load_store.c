/* ranks: 2 4 */
/* MPI 5.0 sections 12.2.3 and 12.7: in a shared window one process stores, both call MPI_Win_sync
 * around a barrier or a message, and the other loads the value; and the operations see loads and
 * stores of the same memory. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Comm host;
    MPI_Win win;
    MPI_Aint bytes;
    int *mine, *first, rank, size, unit, got, one = 1;
    start(&argc, &argv);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &rank);
    MPI_Comm_size(host, &size);
    MPI_Win_allocate_shared(rank == 0 ? 64 : 0, sizeof(int), MPI_INFO_NULL, host, &mine, &win);
    MPI_Win_shared_query(win, 0, &bytes, &unit, &first);
    CHECK_INT(bytes, 64);
    MPI_Win_lock_all(0, win);
    for (int round = 0; round < 50; round++) {
        int writer = round % size;
        if (rank == writer) first[3] = 100 + round;
        MPI_Win_sync(win);
        MPI_Barrier(host);
        MPI_Win_sync(win);
        CHECK_INT(first[3], 100 + round);
        CHECK_CALL(MPI_Get(&got, 1, MPI_INT, 0, 3, 1, MPI_INT, win));
        MPI_Win_flush(0, win);
        CHECK_INT(got, 100 + round);
        MPI_Barrier(host);
        if (rank == writer) first[5] = 0;
        MPI_Win_sync(win);
        MPI_Barrier(host);
        MPI_Accumulate(&one, 1, MPI_INT, 0, 5, 1, MPI_INT, MPI_SUM, win);
        MPI_Win_flush(0, win);
        MPI_Barrier(host);
        MPI_Win_sync(win);
        CHECK_INT(first[5], size);
        MPI_Barrier(host);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Comm_free(&host);
    return finish();
}
