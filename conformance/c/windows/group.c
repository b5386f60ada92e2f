/* ranks: 1 3 4 */
/* MPI 5.0 section 12.2.6: MPI_Win_get_group gives a duplicate of the group of the communicator that
 * made the window; ranks of the operations are ranks in that group, and the communicator may be
 * freed while the window lives. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Group group, wanted;
    MPI_Win win;
    int result, data = -1, rank, size;
    start(&argc, &argv);
    /* The order of the ranks is reversed. */
    MPI_Comm_split(MPI_COMM_WORLD, 0, world_size - world_rank, &comm);
    MPI_Comm_group(comm, &wanted);
    CHECK_CALL(MPI_Win_create(&data, sizeof data, 1, MPI_INFO_NULL, comm, &win));
    MPI_Comm_free(&comm);
    CHECK_CALL(MPI_Win_get_group(win, &group));
    MPI_Group_compare(group, wanted, &result);
    CHECK_INT(result, MPI_IDENT);
    MPI_Group_rank(group, &rank);
    MPI_Group_size(group, &size);
    CHECK_INT(rank, world_size - 1 - world_rank);
    CHECK_INT(size, world_size);
    MPI_Win_fence(0, win);
    if (rank == 0)
        for (int i = 0; i < size; i++) {
            int value = 50 + i;
            MPI_Put(&value, 1, MPI_INT, i, 0, 1, MPI_INT, win);
            MPI_Win_fence(0, win);
        }
    else
        for (int i = 0; i < size; i++) MPI_Win_fence(0, win);
    CHECK_INT(data, 50 + rank);
    MPI_Group_free(&group);
    MPI_Group_free(&wanted);
    MPI_Win_free(&win);
    return finish();
}
