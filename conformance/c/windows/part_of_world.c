/* ranks: 3 4 */
/* MPI 5.0 section 12.2.1: creation is collective over the communicator only: a window of some ranks
 * needs nothing of the others, and MPI_COMM_SELF makes a window of one. */
#include "check.h"

int main(int argc, char **argv)
{
    int data = -1, *base, value, rank, size;
    MPI_Comm part;
    MPI_Win win;
    start(&argc, &argv);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &part);
    if (world_rank % 2 == 0) {
        MPI_Comm_rank(part, &rank);
        MPI_Comm_size(part, &size);
        CHECK_CALL(MPI_Win_create(&data, sizeof data, 1, MPI_INFO_NULL, part, &win));
        value = 20 + rank;
        MPI_Win_fence(0, win);
        MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
        CHECK_INT(data, 20 + (rank + size - 1) % size);
        MPI_Win_free(&win);
    }
    CHECK_CALL(MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_SELF, &base, &win));
    value = world_rank;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_unlock(0, win);
    CHECK_INT(*base, world_rank);
    MPI_Win_free(&win);
    MPI_Comm_free(&part);
    return finish();
}
