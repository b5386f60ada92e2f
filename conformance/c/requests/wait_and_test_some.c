/* ranks: 2 */
/* MPI 5.0 section 3.7.5: MPI_Waitsome completes at least one request and reports how many, which, and their statuses in
 * the same order; MPI_Testsome may report 0. With no active request in the list outcount is MPI_UNDEFINED. */
#include "check.h"

enum { COUNT = 6 };

int main(int argc, char **argv)
{
    int in[COUNT], indices[COUNT], outcount = -1, left = COUNT, flag = -1;
    MPI_Request requests[COUNT];
    MPI_Status statuses[COUNT];
    start(&argc, &argv);
    if (world_rank == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        for (int k = 0; k < COUNT; k++) {
            int value = 10 * k;
            MPI_Send(&value, 1, MPI_INT, 1, k, MPI_COMM_WORLD);
        }
        return finish();
    }
    for (int i = 0; i < COUNT; i++) MPI_Irecv(&in[i], 1, MPI_INT, 0, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Testsome(COUNT, requests, &outcount, indices, statuses);
    CHECK_INT(outcount, 0);
    MPI_Testall(COUNT, requests, &flag, statuses);
    CHECK_INT(flag, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    while (left > 0) {
        if (left > COUNT / 2) MPI_Waitsome(COUNT, requests, &outcount, indices, statuses);
        else MPI_Testsome(COUNT, requests, &outcount, indices, statuses);
        CHECK(outcount >= (left > COUNT / 2 ? 1 : 0) && outcount <= left);
        for (int k = 0; k < outcount; k++) {
            int i = indices[k];
            CHECK(i >= 0 && i < COUNT && requests[i] == MPI_REQUEST_NULL);
            CHECK_INT(statuses[k].MPI_TAG, i);
            CHECK_INT(in[i], 10 * i);
        }
        left -= outcount;
    }
    MPI_Waitsome(COUNT, requests, &outcount, indices, statuses);
    CHECK_INT(outcount, MPI_UNDEFINED);
    MPI_Testsome(COUNT, requests, &outcount, indices, MPI_STATUSES_IGNORE);
    CHECK_INT(outcount, MPI_UNDEFINED);
    MPI_Testall(COUNT, requests, &flag, statuses);
    CHECK_INT(flag, 1);
    return finish();
}
