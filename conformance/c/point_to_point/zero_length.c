/* ranks: 2 */
/* MPI 5.0 section 3.2: a message may carry no data; it still has an envelope, is matched, probed and counted as 0
 * elements. With count 0 the buffer pointer is not used and may be NULL. */
#include "check.h"

int main(int argc, char **argv)
{
    int data = 9, count = -1;
    MPI_Status status;
    start(&argc, &argv);
    if (world_rank == 0) {
        CHECK_CALL(MPI_Send(NULL, 0, MPI_DOUBLE, 1, 4, MPI_COMM_WORLD));
        CHECK_CALL(MPI_Ssend(NULL, 0, MPI_BYTE, 1, 5, MPI_COMM_WORLD));
    } else {
        MPI_Probe(0, 4, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_DOUBLE, &count);
        CHECK_INT(count, 0);
        MPI_Recv(&data, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK_INT(count, 0);
        CHECK_INT(data, 9);
        CHECK_CALL(MPI_Recv(NULL, 0, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &status));
        CHECK_INT(status.MPI_TAG, 5);
    }
    return finish();
}
