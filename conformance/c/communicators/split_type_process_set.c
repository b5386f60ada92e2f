/* ranks: 1 3 */
/* skip-mpich: it compares names of process sets with their case */
/* MPI 5.0 sections 7.4.2 and 11.3.1: MPI_COMM_TYPE_RESOURCE_GUIDED with mpi_pset_name gives a communicator of the processes
 * that are in the set: of mpi://WORLD all of them, of mpi://SELF each process alone. Names are URIs, whose case is let
 * pass here as in MPI_Group_from_session_pset. An unknown set gives MPI_COMM_NULL. */
#include "check.h"

static int size_of(const char *set)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Info info;
    int size = 0;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_pset_name", set);
    CHECK_CALL(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &comm));
    MPI_Info_free(&info);
    if (comm == MPI_COMM_NULL) return 0;
    MPI_Comm_size(comm, &size);
    MPI_Comm_free(&comm);
    return size;
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CHECK_INT(size_of("mpi://WORLD"), world_size);
    CHECK_INT(size_of("mpi://world"), world_size);
    CHECK_INT(size_of("mpi://SELF"), 1);
    CHECK_INT(size_of("mpi://self"), 1);
    CHECK_INT(size_of("mpi://elsewhere"), 0);
    return finish();
}
