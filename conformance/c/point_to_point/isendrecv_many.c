/* ranks: 2 3 */
/* MPI 5.0 section 3.11: MPI_Isendrecv is one operation that completes when both its send and its receive have; section 3.7.4:
 * MPI_Wait returns when that is so, whichever of the two ends first and however close together they end. */
#include "check.h"

int main(int argc, char **argv)
{
    int right, left;
    start(&argc, &argv);
    right = (world_rank + 1) % world_size;
    left = (world_rank + world_size - 1) % world_size;
    for (int turn = 0; turn < 20000; turn++) {
        int sent = turn * 10 + world_rank, received = -1;
        MPI_Request request;
        MPI_Isendrecv(&sent, 1, MPI_INT, right, 1, &received, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (received != turn * 10 + left) {
            CHECK_INT(received, turn * 10 + left);
            break;
        }
    }
    return finish();
}
