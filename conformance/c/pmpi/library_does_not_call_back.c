/* ranks: 2 */
/* MPI 5.0 section 15.2: an interposed function sees the program's calls. A library that used the MPI_ names for its own
 * work would make a tool count messages nobody sent: a broadcast and a barrier must not show up as sends here. */
#include "check.h"

static int calls = 0;

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    calls++;
    return PMPI_Send(buffer, count, type, dest, tag, comm);
}

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request *request)
{
    calls++;
    return PMPI_Isend(buffer, count, type, dest, tag, comm, request);
}

int main(int argc, char **argv)
{
    int data = 0;
    start(&argc, &argv);
    if (world_rank == 0) data = 9;
    MPI_Bcast(&data, 1, MPI_INT, 0, MPI_COMM_WORLD);
    CHECK_INT(data, 9);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_free(&comm);
    CHECK_INT(calls, 0);
    return finish();
}
