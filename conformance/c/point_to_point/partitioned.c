/* ranks: 2 */
/* MPI 5.0 chapter 4: a partitioned send moves its data when each partition is marked ready, in any order; both sides
 * may cut the same data differently (8 partitions of 3 on one side, 4 of 6 on the other). MPI_Parrived becomes true for
 * a partition that is there; the request completes once all partitions have arrived. */
#include "check.h"

int main(int argc, char **argv)
{
    double data[24];
    int flag = 0;
    MPI_Request request;
    start(&argc, &argv);
    if (world_rank == 0) MPI_Psend_init(data, 8, 3, MPI_DOUBLE, 1, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else MPI_Precv_init(data, 4, 6, MPI_DOUBLE, 0, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 24; i++) data[i] = world_rank == 0 ? 100 * round + i : -1;
        MPI_Start(&request);
        if (world_rank == 0) {
            int list[3] = {7, 0, 5};
            MPI_Pready(3, request);
            MPI_Pready_list(3, list, request);
            MPI_Pready_range(1, 2, request);
            MPI_Pready(6, request);
            MPI_Pready(4, request);
        } else {
            for (int i = 0; i < 4; i++)
                do MPI_Parrived(request, i, &flag);
                while (!flag);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(request != MPI_REQUEST_NULL);
        if (world_rank == 1)
            for (int i = 0; i < 24; i++) CHECK_DOUBLE(data[i], 100 * round + i);
    }
    MPI_Request_free(&request);
    return finish();
}
