/* ranks: 2 */
/* MPI 5.0 chapter 11, MPI_Finalize: a buffered send is complete for its sender when it returns, so the sender may
 * finalise at once with the buffer still attached; the library must still deliver the message to a receiver that asks
 * later. */
#include "check.h"
#include <time.h>

static char buffer[4000 + MPI_BSEND_OVERHEAD];

int main(int argc, char **argv)
{
    int data[1000];
    start(&argc, &argv);
    if (world_rank == 0) {
        for (int i = 0; i < 1000; i++) data[i] = i * i;
        MPI_Buffer_attach(buffer, sizeof buffer);
        MPI_Bsend(data, 1000, MPI_INT, 1, 3, MPI_COMM_WORLD);
    } else {
        struct timespec pause = {0, 200 * 1000 * 1000};
        nanosleep(&pause, NULL);
        MPI_Recv(data, 1000, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < 1000; i++) CHECK_INT(data[i], i * i);
    }
    return finish();
}
