/* ranks: 2 3 */
/* MPI 5.0 section 12.3.5: such requests are requests as any other: they mix with those of messages
 * in Waitall, Waitany and Testall, and Request_free is not needed after completion. */
#include "check.h"

enum { COUNT = 2000 };

int main(int argc, char **argv)
{
    static int own[COUNT], values[COUNT], got[COUNT], message[2] = {1, 2};
    MPI_Request requests[5];
    MPI_Win win;
    start(&argc, &argv);
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    for (int i = 0; i < COUNT; i++) own[i] = world_rank, values[i] = COUNT * world_rank + i;
    MPI_Win_create(own, sizeof own, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
    MPI_Irecv(&message[0], 1, MPI_INT, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&world_rank, 1, MPI_INT, right, 0, MPI_COMM_WORLD, &requests[1]);
    int half = COUNT / 2;
    MPI_Rput(values, half, MPI_INT, right, 0, half, MPI_INT, win, &requests[2]);
    MPI_Rget(got, half, MPI_INT, right, half, half, MPI_INT, win, &requests[3]);
    MPI_Rget(&got[half], half, MPI_INT, world_rank, half, half, MPI_INT, win, &requests[4]);
    int seen = 0, index;
    for (int i = 0; i < 5; i++) {
        CHECK_CALL(MPI_Waitany(5, requests, &index, MPI_STATUS_IGNORE));
        CHECK(index >= 0 && index < 5);
        seen |= 1 << index;
    }
    CHECK_INT(seen, 31);
    CHECK_INT(message[0], left);
    for (int i = 0; i < half; i++) {
        CHECK_INT(got[i], right);
        CHECK_INT(got[half + i], world_rank);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, world_rank, 0, win);
    for (int i = 0; i < half; i++) CHECK_INT(own[i], COUNT * left + i);
    MPI_Win_unlock(world_rank, win);
    MPI_Win_free(&win);
    return finish();
}
