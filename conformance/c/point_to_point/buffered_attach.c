/* ranks: 2 */
/* MPI 5.0 section 3.6: a buffered send completes whether or not a receive is posted, as long as the attached buffer has
 * room for the packed message and MPI_BSEND_OVERHEAD. Without enough room the send is an error; its class is the one for
 * buffers. Detaching waits for the delivery of everything buffered and returns address and size of the buffer. */
#include "check.h"

static char buffer[3 * (400 + MPI_BSEND_OVERHEAD)];

int main(int argc, char **argv)
{
    int data[100], size = 0, big[1000] = {0};
    void *address = NULL;
    start(&argc, &argv);
    errors_return();
    if (world_rank == 0) {
        CHECK_CALL(MPI_Buffer_attach(buffer, sizeof buffer));
        for (int k = 0; k < 3; k++) {
            for (int i = 0; i < 100; i++) data[i] = 1000 * k + i;
            CHECK_CALL(MPI_Bsend(data, 100, MPI_INT, 1, k, MPI_COMM_WORLD));
        }
        CHECK_CLASS(MPI_Bsend(big, 1000, MPI_INT, 1, 9, MPI_COMM_WORLD), MPI_ERR_BUFFER);
        MPI_Send(data, 0, MPI_INT, 1, 10, MPI_COMM_WORLD);
        MPI_Buffer_detach(&address, &size);
        CHECK(address == (void *)buffer);
        CHECK_INT(size, sizeof buffer);
    } else {
        MPI_Recv(data, 0, MPI_INT, 0, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int k = 2; k >= 0; k--) {
            MPI_Recv(data, 100, MPI_INT, 0, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int i = 0; i < 100; i++) CHECK_INT(data[i], 1000 * k + i);
        }
    }
    return finish();
}
