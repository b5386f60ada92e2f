/* ranks: 2 3 */
/* one-host: the processes that can share memory are all only there */
/* MPI 5.0 section 7.4.2: MPI_COMM_TYPE_SHARED groups the processes that can share memory (here all, they run on one
 * host), ordered by key; MPI_UNDEFINED gives MPI_COMM_NULL. MPI_COMM_TYPE_HW_GUIDED with a resource type that the
 * library does not know gives MPI_COMM_NULL everywhere. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Info info;
    int rank = -1, size = -1;
    start(&argc, &argv);
    CHECK_CALL(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -world_rank, MPI_INFO_NULL, &comm));
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    CHECK_INT(size, world_size);
    CHECK_INT(rank, world_size - 1 - world_rank);
    MPI_Comm_free(&comm);
    int kind = world_rank == 0 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED;
    CHECK_CALL(MPI_Comm_split_type(MPI_COMM_WORLD, kind, 0, MPI_INFO_NULL, &comm));
    CHECK((comm == MPI_COMM_NULL) == (world_rank == 0));
    if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_hw_resource_type", "conformance://no such resource");
    CHECK_CALL(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &comm));
    CHECK(comm == MPI_COMM_NULL);
    MPI_Info_free(&info);
    return finish();
}
