/* ranks: 2 */
/* MPI 5.0 section 3.8.1: MPI_Probe returns when a matching message is there, with the status a receive would give, and
 * leaves the message where it is; the next receive with that source and tag gets exactly this message. MPI_Iprobe does
 * not wait. */
#include "check.h"

int main(int argc, char **argv)
{
    int data[7] = {0, 1, 2, 3, 4, 5, 6}, count = -1, flag = -1;
    MPI_Status status;
    start(&argc, &argv);
    if (world_rank == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Send(data, 7, MPI_INT, 1, 3, MPI_COMM_WORLD);
        MPI_Send(data, 2, MPI_INT, 1, 4, MPI_COMM_WORLD);
    } else {
        MPI_Iprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
        CHECK_INT(flag, 0);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Probe(0, 4, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK_INT(count, 2);
        for (int twice = 0; twice < 2; twice++) {
            MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            CHECK_INT(status.MPI_SOURCE, 0);
            CHECK_INT(status.MPI_TAG, 3);
            MPI_Get_count(&status, MPI_INT, &count);
            CHECK_INT(count, 7);
        }
        memset(data, -1, sizeof data);
        MPI_Recv(data, count, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < 7; i++) CHECK_INT(data[i], i);
        MPI_Iprobe(0, 3, MPI_COMM_WORLD, &flag, &status);
        CHECK_INT(flag, 0);
        MPI_Recv(data, 2, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return finish();
}
