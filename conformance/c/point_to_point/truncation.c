/* ranks: 2 */
/* MPI 5.0 section 3.2.4: a message longer than the receive buffer is an overflow error; its class is MPI_ERR_TRUNCATE.
 * Nothing beyond the buffer may be written, and later messages are not affected. Small and large messages take
 * different ways through a library, so both are tried, expected and unexpected. */
#include "check.h"

int main(int argc, char **argv)
{
    static int data[100001], sizes[2] = {4, 100000};
    MPI_Request request;
    start(&argc, &argv);
    errors_return();
    for (int k = 0; k < 4; k++) {
        int count = sizes[k / 2];
        if (world_rank == 0) {
            for (int i = 0; i < count; i++) data[i] = i;
            if (k % 2) MPI_Barrier(MPI_COMM_WORLD);
            MPI_Send(data, count, MPI_INT, 1, k, MPI_COMM_WORLD);
            MPI_Send(&k, 1, MPI_INT, 1, 9, MPI_COMM_WORLD);
        } else {
            int last = -1;
            for (int i = 0; i <= count; i++) data[i] = -5;
            MPI_Irecv(data, count - 1, MPI_INT, 0, k, MPI_COMM_WORLD, &request);
            if (k % 2) MPI_Barrier(MPI_COMM_WORLD);
            CHECK_CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
            CHECK_INT(data[count - 1], -5);
            MPI_Recv(&last, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK_INT(last, k);
        }
    }
    return finish();
}
