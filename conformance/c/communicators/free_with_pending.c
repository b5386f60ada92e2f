/* ranks: 2 */
/* MPI 5.0 section 7.4.3: MPI_Comm_free only marks the communicator; pending operations that use it complete normally.
 * MPI_Comm_disconnect waits for them. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Request request;
    int data = -1;
    start(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (world_rank == 0) {
        MPI_Irecv(&data, 1, MPI_INT, 1, 0, comm, &request);
        MPI_Comm_free(&comm);
        CHECK(comm == MPI_COMM_NULL);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK_INT(data, 17);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        data = 17;
        MPI_Send(&data, 1, MPI_INT, 0, 0, comm);
        MPI_Comm_free(&comm);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    CHECK_CALL(MPI_Comm_disconnect(&comm));
    CHECK(comm == MPI_COMM_NULL);
    return finish();
}
