/* ranks: 2 */
/* MPI 5.0 sections 3.2.5 and 4.2: the status of a completed partitioned receive has the source and the tag of the call
 * that made it, and MPI_Get_count gives all elements, whichever call completes it and at every start. */
#include "check.h"

static void check_status(const MPI_Status *status, int elements)
{
    int count = -1;
    CHECK_INT(status->MPI_SOURCE, 0);
    CHECK_INT(status->MPI_TAG, 42);
    MPI_Get_count(status, MPI_INT, &count);
    CHECK_INT(count, elements);
}

int main(int argc, char **argv)
{
    int data[12], flag = 0, index = -1, done = 0;
    MPI_Request request;
    MPI_Status status;
    start(&argc, &argv);
    if (world_rank == 0) MPI_Psend_init(data, 4, 3, MPI_INT, 1, 42, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else MPI_Precv_init(data, 2, 6, MPI_INT, 0, 42, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 12; i++) data[i] = world_rank == 0 ? i : -1;
        MPI_Start(&request);
        memset(&status, 0x5a, sizeof status);
        if (world_rank == 0) {
            MPI_Pready_range(0, 3, request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            continue;
        }
        if (round == 0) MPI_Wait(&request, &status);
        else if (round == 1) MPI_Waitall(1, &request, &status);
        else if (round == 2)
            do MPI_Testany(1, &request, &index, &flag, &status);
            while (!flag);
        else
            do MPI_Testsome(1, &request, &done, &index, &status);
            while (done == 0);
        check_status(&status, 12);
        for (int i = 0; i < 12; i++) CHECK_INT(data[i], i);
    }
    MPI_Request_free(&request);
    return finish();
}
