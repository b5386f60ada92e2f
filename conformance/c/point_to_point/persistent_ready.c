/* ranks: 2 */
/* MPI 5.0 section 3.9: MPI_Rsend_init makes a persistent ready send; each start needs a matching receive that is
 * already posted. The receiver starts its own persistent receive before the barrier, the sender after it. A started
 * request may be matched with an ordinary send or receive. */
#include "check.h"

int main(int argc, char **argv)
{
    int out = 0, in = -1;
    MPI_Request request;
    start(&argc, &argv);
    if (world_rank == 0) MPI_Rsend_init(&out, 1, MPI_INT, 1, 6, MPI_COMM_WORLD, &request);
    for (int round = 0; round < 5; round++) {
        MPI_Request receive;
        if (world_rank == 1) MPI_Irecv(&in, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, &receive);
        MPI_Barrier(MPI_COMM_WORLD);
        if (world_rank == 0) {
            out = 50 + round;
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Wait(&receive, MPI_STATUS_IGNORE);
            CHECK_INT(in, 50 + round);
        }
    }
    if (world_rank == 0) MPI_Request_free(&request);
    return finish();
}
