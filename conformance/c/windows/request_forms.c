/* ranks: 1 2 3 */
/* MPI 5.0 section 12.3.5: the request forms are valid in a passive epoch. A completed request of a
 * put or accumulate frees the origin buffer, of a get or get_accumulate the result is there; flush
 * or unlock completes at the target. */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    for (int kind = 0; kind < 2; kind++) {
        int own[4], *base = own, value = 10 + world_rank, got = -1, old[2] = {-1, -1};
        MPI_Request request = MPI_REQUEST_NULL, two[2];
        MPI_Status status;
        MPI_Win win;
        if (kind == 0)
            MPI_Win_create(own, sizeof own, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        else
            MPI_Win_allocate(sizeof own, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, world_rank, 0, win);
        for (int i = 0; i < 4; i++) base[i] = 0;
        MPI_Win_unlock(world_rank, win);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock_all(0, win);
        CHECK_CALL(MPI_Rput(&value, 1, MPI_INT, right, 1, 1, MPI_INT, win, &request));
        CHECK(request != MPI_REQUEST_NULL);
        CHECK_CALL(MPI_Wait(&request, &status));
        CHECK(request == MPI_REQUEST_NULL);
        value = -3;
        MPI_Win_flush(right, win);
        CHECK_CALL(MPI_Rget(&got, 1, MPI_INT, right, 1, 1, MPI_INT, win, &request));
        CHECK_CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_INT(got, 10 + world_rank);
        int add[2] = {5, 6};
        CHECK_CALL(MPI_Raccumulate(add, 2, MPI_INT, right, 1, 2, MPI_INT, MPI_SUM, win, &two[0]));
        CHECK_CALL(MPI_Rget_accumulate(add, 2, MPI_INT, old, 2, MPI_INT, right, 1, 2, MPI_INT,
                                       MPI_SUM, win, &two[1]));
        CHECK_CALL(MPI_Waitall(2, two, MPI_STATUSES_IGNORE));
        /* Accumulates of one origin to one place are ordered. */
        CHECK_INT(old[0], 15 + world_rank);
        CHECK_INT(old[1], 6);
        int flag = 0;
        CHECK_CALL(MPI_Rget(&got, 1, MPI_INT, right, 2, 1, MPI_INT, win, &request));
        while (!flag) CHECK_CALL(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
        MPI_Win_unlock_all(win);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_SHARED, world_rank, 0, win);
        CHECK_INT(base[1], 10 + left + 10);
        CHECK_INT(base[2], 12);
        CHECK_INT(base[0], 0);
        MPI_Win_unlock(world_rank, win);
        MPI_Win_free(&win);
    }
    return finish();
}
