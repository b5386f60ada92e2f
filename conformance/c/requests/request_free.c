/* ranks: 2 */
/* MPI 5.0 section 3.7.3: MPI_Request_free marks the request for deallocation and sets the handle to MPI_REQUEST_NULL at
 * once; the communication behind it goes on to its end. The receiver's answer tells the sender when the buffer is its
 * own again. */
#include "check.h"

int main(int argc, char **argv)
{
    static int data[50000];
    MPI_Request request;
    start(&argc, &argv);
    for (int round = 0; round < 5; round++) {
        if (world_rank == 0) {
            for (int i = 0; i < 50000; i++) data[i] = round + i;
            MPI_Isend(data, 50000, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
            CHECK_CALL(MPI_Request_free(&request));
            CHECK(request == MPI_REQUEST_NULL);
            MPI_Recv(&(int){0}, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(data, 50000, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int i = 0; i < 50000; i += 11) CHECK_INT(data[i], round + i);
            MPI_Send(&round, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        }
    }
    return finish();
}
