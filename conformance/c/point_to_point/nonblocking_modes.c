/* ranks: 2 */
/* MPI 5.0 section 3.7: Isend, Ibsend, Issend and Irsend start the send and return; the request completes it. Four are
 * in flight at once here, each with its own tag, and the receives are completed in another order than the sends. */
#include "check.h"

static char buffer[1000 + MPI_BSEND_OVERHEAD];

int main(int argc, char **argv)
{
    int out[4] = {7, 8, 9, 10}, in[4] = {0}, size;
    void *address;
    MPI_Request requests[4];
    MPI_Status status;
    start(&argc, &argv);
    if (world_rank == 1)
        for (int i = 0; i < 4; i++) MPI_Irecv(&in[i], 1, MPI_INT, 0, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0) {
        MPI_Buffer_attach(buffer, sizeof buffer);
        MPI_Isend(&out[0], 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Ibsend(&out[1], 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Issend(&out[2], 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &requests[2]);
        MPI_Irsend(&out[3], 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &requests[3]);
        for (int i = 0; i < 4; i++) CHECK_CALL(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        MPI_Buffer_detach(&address, &size);
        CHECK(address == (void *)buffer);
        CHECK_INT(size, sizeof buffer);
    } else {
        for (int i = 3; i >= 0; i--) {
            MPI_Wait(&requests[i], &status);
            CHECK_INT(status.MPI_TAG, i);
            CHECK_INT(in[i], 7 + i);
        }
    }
    for (int i = 0; i < 4; i++) CHECK(requests[i] == MPI_REQUEST_NULL);
    return finish();
}
