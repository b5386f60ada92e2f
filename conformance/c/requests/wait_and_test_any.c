/* ranks: 2 */
/* MPI 5.0 section 3.7.5: MPI_Waitany completes one request, sets it to MPI_REQUEST_NULL and returns its index; null
 * requests in the list are passed over. A list without active requests gives index MPI_UNDEFINED and an empty status,
 * and MPI_Testany then says flag = true. */
#include "check.h"

int main(int argc, char **argv)
{
    int in[4] = {-1, -1, -1, -1}, indx = -7, flag = -1, done[4] = {0};
    MPI_Request requests[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status;
    start(&argc, &argv);
    if (world_rank == 0) {
        for (int k = 0; k < 3; k++) {
            int go;
            MPI_Recv(&go, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&k, 1, MPI_INT, 1, 3 - k, MPI_COMM_WORLD);
        }
        return finish();
    }
    for (int i = 1; i < 4; i++) MPI_Irecv(&in[i], 1, MPI_INT, 0, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Testany(4, requests, &indx, &flag, &status);
    CHECK_INT(flag, 0);
    CHECK_INT(indx, MPI_UNDEFINED);
    for (int k = 0; k < 3; k++) {
        MPI_Send(&k, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
        if (k == 1) {
            do MPI_Testany(4, requests, &indx, &flag, &status);
            while (!flag);
        } else {
            MPI_Waitany(4, requests, &indx, &status);
        }
        CHECK_INT(indx, 3 - k);
        CHECK_INT(status.MPI_TAG, 3 - k);
        CHECK_INT(in[3 - k], k);
        CHECK(requests[3 - k] == MPI_REQUEST_NULL);
        done[3 - k]++;
    }
    for (int i = 1; i < 4; i++) CHECK_INT(done[i], 1);
    MPI_Waitany(4, requests, &indx, &status);
    CHECK_INT(indx, MPI_UNDEFINED);
    CHECK_INT(status.MPI_SOURCE, MPI_ANY_SOURCE);
    MPI_Testany(4, requests, &indx, &flag, &status);
    CHECK_INT(flag, 1);
    CHECK_INT(indx, MPI_UNDEFINED);
    MPI_Waitany(0, NULL, &indx, MPI_STATUS_IGNORE);
    CHECK_INT(indx, MPI_UNDEFINED);
    return finish();
}
