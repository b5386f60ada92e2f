/* ranks: 2 */
/* MPI 5.0 section 15.2: every function also exists with the prefix PMPI_, and a program (or a tool) may define the MPI_
 * name itself and call the PMPI_ one. All calls of the program then pass through its own definition, and MPI_Pcontrol
 * exists and does nothing by default. */
#include "check.h"

static int sends = 0;
static long bytes = 0;

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    int size;
    PMPI_Type_size(type, &size);
    sends++;
    bytes += (long)count * size;
    return PMPI_Send(buffer, count, type, dest, tag, comm);
}

int main(int argc, char **argv)
{
    int data[4] = {1, 2, 3, 4};
    start(&argc, &argv);
    if (world_rank == 0) {
        MPI_Send(data, 4, MPI_INT, 1, 0, MPI_COMM_WORLD);
        MPI_Send(data, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        CHECK_INT(sends, 2);
        CHECK_INT(bytes, 5 * sizeof(int));
    } else {
        int in[4] = {0};
        PMPI_Recv(in, 4, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_BYTES(in, data, sizeof data);
        MPI_Recv(in, 4, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_INT(sends, 0);
    }
    CHECK_CALL(MPI_Pcontrol(1));
    return finish();
}
