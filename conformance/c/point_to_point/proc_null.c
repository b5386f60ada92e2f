/* ranks: 1 */
/* MPI 5.0 section 3.10 (null processes): communication with MPI_PROC_NULL succeeds at once and does nothing. A receive
 * from it leaves the buffer alone and gives source MPI_PROC_NULL, tag MPI_ANY_TAG, count 0; so does a probe. */
#include "check.h"

static void null_status(const MPI_Status *status)
{
    int count = -1, cancelled = -1;
    CHECK_INT(status->MPI_SOURCE, MPI_PROC_NULL);
    CHECK_INT(status->MPI_TAG, MPI_ANY_TAG);
    MPI_Get_count(status, MPI_INT, &count);
    CHECK_INT(count, 0);
    MPI_Test_cancelled(status, &cancelled);
    CHECK_INT(cancelled, 0);
}

int main(int argc, char **argv)
{
    int data = 77, flag = -1;
    MPI_Status status;
    MPI_Request request;
    start(&argc, &argv);
    CHECK_CALL(MPI_Send(&data, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    CHECK_CALL(MPI_Ssend(&data, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    CHECK_CALL(MPI_Rsend(&data, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    CHECK_CALL(MPI_Recv(&data, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status));
    null_status(&status);
    CHECK_CALL(MPI_Irecv(&data, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &request));
    CHECK_CALL(MPI_Wait(&request, &status));
    null_status(&status);
    CHECK_CALL(MPI_Probe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status));
    null_status(&status);
    CHECK_CALL(MPI_Iprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &flag, &status));
    CHECK_INT(flag, 1);
    null_status(&status);
    CHECK_INT(data, 77);
    return finish();
}
