/* ranks: 2 */
/* MPI 5.0 section 3.7.5: if one of the requests of MPI_Waitall fails, the call returns MPI_ERR_IN_STATUS and the
 * MPI_ERROR field of every status says how that one ended: MPI_SUCCESS, the error, or MPI_ERR_PENDING if it neither
 * failed nor completed. The calls with one status (MPI_Wait) return the error itself instead. */
#include "check.h"

int main(int argc, char **argv)
{
    int data[4] = {1, 2, 3, 4}, in[2][4], class = -1;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    start(&argc, &argv);
    errors_return();
    if (world_rank == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Send(data, 4, MPI_INT, 1, 0, MPI_COMM_WORLD);
        MPI_Send(data, 4, MPI_INT, 1, 1, MPI_COMM_WORLD);
        return finish();
    }
    MPI_Irecv(in[0], 4, MPI_INT, 0, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(in[1], 2, MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CLASS(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
    MPI_Error_class(statuses[1].MPI_ERROR, &class);
    CHECK_INT(class, MPI_ERR_TRUNCATE);
    if (statuses[0].MPI_ERROR == MPI_ERR_PENDING) CHECK_CALL(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    else CHECK_INT(statuses[0].MPI_ERROR, MPI_SUCCESS);
    CHECK(requests[0] == MPI_REQUEST_NULL);
    CHECK_BYTES(in[0], data, sizeof data);
    return finish();
}
