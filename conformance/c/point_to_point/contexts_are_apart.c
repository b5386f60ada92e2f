/* ranks: 2 */
/* MPI 5.0 section 3.2.3: a message is received only within the communicator it was sent in. Two communicators with the
 * same group are sent the same tag; the receive on the duplicate must not take the message of MPI_COMM_WORLD that was
 * sent first. */
#include "check.h"

int main(int argc, char **argv)
{
    int data, flag = -1;
    MPI_Comm twin;
    start(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    if (world_rank == 0) {
        data = 1;
        MPI_Send(&data, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        data = 2;
        MPI_Send(&data, 1, MPI_INT, 1, 0, twin);
    } else {
        MPI_Recv(&data, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, twin, MPI_STATUS_IGNORE);
        CHECK_INT(data, 2);
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, twin, &flag, MPI_STATUS_IGNORE);
        CHECK_INT(flag, 0);
        MPI_Recv(&data, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_INT(data, 1);
    }
    MPI_Comm_free(&twin);
    return finish();
}
