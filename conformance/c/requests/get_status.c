/* ranks: 2 */
/* MPI 5.0 section 3.7.6: MPI_Request_get_status and its any, all and some forms tell whether requests are complete,
 * with the status, but leave the requests as they are: they may be asked again and must still be completed. */
#include "check.h"

int main(int argc, char **argv)
{
    int in[3] = {0}, flag = -1, indx = -1, outcount = -1, indices[3], sum = 0;
    MPI_Request requests[3];
    MPI_Status status, statuses[3];
    start(&argc, &argv);
    if (world_rank == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        for (int k = 2; k >= 0; k--) MPI_Send(&k, 1, MPI_INT, 1, k, MPI_COMM_WORLD);
        return finish();
    }
    for (int i = 0; i < 3; i++) MPI_Irecv(&in[i], 1, MPI_INT, 0, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Request_get_status(requests[0], &flag, &status);
    CHECK_INT(flag, 0);
    MPI_Request_get_status_any(3, requests, &indx, &flag, &status);
    CHECK_INT(flag, 0);
    MPI_Request_get_status_some(3, requests, &outcount, indices, statuses);
    CHECK_INT(outcount, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    do MPI_Request_get_status_all(3, requests, &flag, statuses);
    while (!flag);
    for (int i = 0; i < 3; i++) {
        CHECK(requests[i] != MPI_REQUEST_NULL);
        CHECK_INT(statuses[i].MPI_TAG, i);
        CHECK_INT(in[i], i);
    }
    MPI_Request_get_status_any(3, requests, &indx, &flag, &status);
    CHECK_INT(flag, 1);
    CHECK(indx >= 0 && indx < 3);
    CHECK_INT(status.MPI_TAG, indx);
    MPI_Request_get_status_some(3, requests, &outcount, indices, statuses);
    CHECK_INT(outcount, 3);
    for (int i = 0; i < outcount && i < 3; i++) sum += indices[i];
    CHECK_INT(sum, 3);
    CHECK_CALL(MPI_Waitall(3, requests, statuses));
    for (int i = 0; i < 3; i++) CHECK(requests[i] == MPI_REQUEST_NULL);
    return finish();
}
