/* ranks: 1 2 */
/* MPI 5.0 section 3.8.4: a receive that nothing matches is cancelled; the cancelled request must still be completed,
 * and MPI_Test_cancelled on that status is true. Nothing was received, so the buffer is untouched. A receive that
 * already completed is not cancelled. */
#include "check.h"

int main(int argc, char **argv)
{
    int data = 77, out = 5, flag = -1;
    MPI_Request request;
    MPI_Status status;
    start(&argc, &argv);
    MPI_Irecv(&data, 1, MPI_INT, MPI_ANY_SOURCE, 12, MPI_COMM_WORLD, &request);
    CHECK_CALL(MPI_Cancel(&request));
    CHECK(request != MPI_REQUEST_NULL);
    CHECK_CALL(MPI_Wait(&request, &status));
    CHECK(request == MPI_REQUEST_NULL);
    MPI_Test_cancelled(&status, &flag);
    CHECK_INT(flag, 1);
    CHECK_INT(data, 77);

    MPI_Irecv(&data, 1, MPI_INT, 0, 13, MPI_COMM_SELF, &request);
    MPI_Send(&out, 1, MPI_INT, 0, 13, MPI_COMM_SELF);
    MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK_INT(flag, 0);
    CHECK_INT(data, 5);
    return finish();
}
