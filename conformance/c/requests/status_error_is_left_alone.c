/* ranks: 2 */
/* MPI 5.0 section 3.2.5: calls that return one status do not touch its MPI_ERROR field, and the calls that return
 * several set it only if they return MPI_ERR_IN_STATUS. */
#include "check.h"

int main(int argc, char **argv)
{
    int data = 3, flag = 0;
    MPI_Status status;
    MPI_Request request;
    start(&argc, &argv);
    status.MPI_ERROR = 4711;
    if (world_rank == 0) {
        for (int i = 0; i < 3; i++) MPI_Send(&data, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &status);
        CHECK_INT(status.MPI_ERROR, 4711);
        MPI_Irecv(&data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, &status);
        CHECK_INT(status.MPI_ERROR, 4711);
        MPI_Probe(0, 0, MPI_COMM_WORLD, &status);
        CHECK_INT(status.MPI_ERROR, 4711);
        MPI_Irecv(&data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
        do MPI_Test(&request, &flag, &status);
        while (!flag);
        CHECK_INT(status.MPI_ERROR, 4711);
    }
    return finish();
}
