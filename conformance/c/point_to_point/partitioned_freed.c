/* ranks: 2 */
/* skip-mpich: MPICH 5.0.2 does not free active partitioned requests */
/* MPI 5.0 §3.7.3 and chapter 4: a request may be freed while its operation is active; the operation goes on. Ten partitioned
 * receives that were started and freed do not keep other calls from answering, and their data arrive. */
#include "check.h"

enum { COUNT = 10 };

int main(int argc, char **argv)
{
    static int data[COUNT][8];
    MPI_Request requests[COUNT];
    int flag = 0;
    start(&argc, &argv);
    for (int i = 0; i < COUNT; i++) {
        for (int at = 0; at < 8; at++) data[i][at] = world_rank == 0 ? 10 * i + at : -1;
        if (world_rank == 0) MPI_Psend_init(data[i], 4, 2, MPI_INT, 1, i, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
        else MPI_Precv_init(data[i], 4, 2, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
        MPI_Start(&requests[i]);
        if (world_rank == 1) MPI_Request_free(&requests[i]);
    }
    if (world_rank == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < COUNT; i++) {
            MPI_Pready_range(0, 3, requests[i]);
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
            MPI_Request_free(&requests[i]);
        }
        MPI_Send(&flag, 1, MPI_INT, 1, 99, MPI_COMM_WORLD);
    } else {
        for (int i = 0; i < 100; i++) {
            MPI_Iprobe(0, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            CHECK(!flag);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Recv(&flag, 1, MPI_INT, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < COUNT; i++) {
            volatile int *arrived = data[i];
            while (arrived[7] == -1) MPI_Iprobe(0, 98, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            for (int at = 0; at < 8; at++) CHECK_INT(arrived[at], 10 * i + at);
        }
    }
    return finish();
}
