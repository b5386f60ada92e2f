/* ranks: 1 2 3 */
/* skip-mpich: its network library prints warnings about it, in the middle of other lines */
/* MPI 5.0 section 11.2.2: MPI_Finalize does not free objects, so a window whose epochs are over may
 * be left, with memory of MPI_Alloc_mem; the processes end as they should. */
#include "check.h"

int main(int argc, char **argv)
{
    static int data[4];
    int *base, value = 3;
    char *memory;
    MPI_Win created, allocated, dynamic;
    start(&argc, &argv);
    int right = (world_rank + 1) % world_size;
    MPI_Alloc_mem(100000, MPI_INFO_NULL, &memory);
    memory[99999] = 1;
    MPI_Win_create(data, sizeof data, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &created);
    MPI_Win_allocate(16, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &allocated);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
    MPI_Win_lock_all(0, created);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, allocated);
    MPI_Put(&value, 1, MPI_INT, right, 2, 1, MPI_INT, created);
    MPI_Put(&value, 1, MPI_INT, right, 2, 1, MPI_INT, allocated);
    MPI_Win_unlock(right, allocated);
    MPI_Win_unlock_all(created);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, world_rank, 0, created);
    CHECK_INT(data[2], 3);
    MPI_Win_unlock(world_rank, created);
    return finish();
}
