/* ranks: 1 2 3 4 */
/* MPI 5.0 section 7.4.2: one new communicator per colour; ranks follow the key, ties the old rank; MPI_UNDEFINED as
 * colour gives MPI_COMM_NULL. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Comm comm;
    int rank = -1, size = -1, sum = -1;
    start(&argc, &argv);
    int colour = world_rank % 2, odd = world_size / 2, even = world_size - odd;
    CHECK_CALL(MPI_Comm_split(MPI_COMM_WORLD, colour, world_size - world_rank, &comm));
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    CHECK_INT(size, colour ? odd : even);
    CHECK_INT(rank, size - 1 - world_rank / 2);
    MPI_Allreduce(&colour, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK_INT(sum, colour * size);
    MPI_Comm_free(&comm);
    /* Equal keys keep the old order. */
    MPI_Comm_split(MPI_COMM_WORLD, 5, 7, &comm);
    MPI_Comm_rank(comm, &rank);
    CHECK_INT(rank, world_rank);
    MPI_Comm_free(&comm);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank == 0 ? MPI_UNDEFINED : 1, 0, &comm);
    if (world_rank == 0) {
        CHECK(comm == MPI_COMM_NULL);
    } else {
        MPI_Comm_size(comm, &size);
        CHECK_INT(size, world_size - 1);
        MPI_Comm_free(&comm);
    }
    return finish();
}
