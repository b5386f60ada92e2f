/* ranks: 2 */
/* MPI 5.0 section 3.4: standard, buffered, synchronous and ready sends differ only in when they complete; the message
 * and the status are the same. A ready send needs a posted receive, so the receiver posts it before it says "go". */
#include "check.h"

static char buffer[1000 + MPI_BSEND_OVERHEAD];

int main(int argc, char **argv)
{
    int data[5] = {0}, in[5], go = 1;
    MPI_Request request;
    MPI_Status status;
    start(&argc, &argv);
    for (int mode = 0; mode < 4; mode++) {
        if (world_rank == 0) {
            for (int i = 0; i < 5; i++) data[i] = 10 * mode + i;
            MPI_Recv(&go, 1, MPI_INT, 1, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            switch (mode) {
            case 0: CHECK_CALL(MPI_Send(data, 5, MPI_INT, 1, mode, MPI_COMM_WORLD)); break;
            case 1:
                MPI_Buffer_attach(buffer, sizeof buffer);
                CHECK_CALL(MPI_Bsend(data, 5, MPI_INT, 1, mode, MPI_COMM_WORLD));
                MPI_Buffer_detach(&(void *){NULL}, &(int){0});
                break;
            case 2: CHECK_CALL(MPI_Ssend(data, 5, MPI_INT, 1, mode, MPI_COMM_WORLD)); break;
            default: CHECK_CALL(MPI_Rsend(data, 5, MPI_INT, 1, mode, MPI_COMM_WORLD));
            }
        } else {
            int count = -1;
            MPI_Irecv(in, 5, MPI_INT, 0, mode, MPI_COMM_WORLD, &request);
            MPI_Send(&go, 1, MPI_INT, 0, 99, MPI_COMM_WORLD);
            MPI_Wait(&request, &status);
            CHECK(request == MPI_REQUEST_NULL);
            CHECK_INT(status.MPI_SOURCE, 0);
            CHECK_INT(status.MPI_TAG, mode);
            MPI_Get_count(&status, MPI_INT, &count);
            CHECK_INT(count, 5);
            for (int i = 0; i < 5; i++) CHECK_INT(in[i], 10 * mode + i);
        }
    }
    return finish();
}
