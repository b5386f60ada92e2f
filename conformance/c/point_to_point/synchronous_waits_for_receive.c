/* ranks: 2 */
/* MPI 5.0 section 3.4: a synchronous send completes only if a matching receive was posted and has started to receive.
 * As long as rank 1 has not posted one (it does so only after rank 0's word), MPI_Test must say that the send is not
 * complete. */
#include "check.h"

int main(int argc, char **argv)
{
    int data = 5, go = 0, flag = -1;
    MPI_Request request;
    start(&argc, &argv);
    if (world_rank == 0) {
        MPI_Issend(&data, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
        for (int i = 0; i < 1000; i++) {
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            CHECK_INT(flag, 0);
        }
        MPI_Send(&go, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
        CHECK_CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        MPI_Recv(&go, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        data = 0;
        MPI_Recv(&data, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_INT(data, 5);
    }
    return finish();
}
