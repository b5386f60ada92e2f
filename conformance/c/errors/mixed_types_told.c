/* ranks: 2 */
/* expect: told warning 8-byte reals characters tag 7 MPI_BYTE */
/* MPI 5.0 section 3.3.1: the types of sender and receiver match. Reals that are received as characters do not, and the
 * library says so; it delivers the bytes, as others do. */
#include "check.h"

int main(int argc, char **argv)
{
    double sent[3] = {1, 2, 3}, received[3] = {0};
    MPI_Request request;
    start(&argc, &argv);
    for (int round = 0; round < 3; round++) {
        if (world_rank == 0) {
            MPI_Send(sent, 3, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD);
        } else if (round == 1) {
            MPI_Irecv(received, 24, MPI_CHAR, 0, 7, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(received, 24, MPI_CHAR, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        CHECK(world_rank == 0 || memcmp(sent, received, sizeof sent) == 0);
    }
    return finish();
}
