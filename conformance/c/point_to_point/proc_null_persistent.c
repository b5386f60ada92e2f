/* ranks: 1 */
/* skip-mpich: it completes the started request with an empty status (source MPI_ANY_SOURCE) instead of that of a null process */
/* MPI 5.0 section 3.9 and 3.10 (null processes): a started persistent receive is like the nonblocking receive with the
 * same arguments, so one from MPI_PROC_NULL completes with source MPI_PROC_NULL, tag MPI_ANY_TAG and count 0. */
#include "check.h"

int main(int argc, char **argv)
{
    int data = 77, count = -1;
    MPI_Status status;
    MPI_Request request;
    start(&argc, &argv);
    CHECK_CALL(MPI_Recv_init(&data, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &request));
    CHECK_CALL(MPI_Start(&request));
    CHECK_CALL(MPI_Wait(&request, &status));
    CHECK_INT(status.MPI_SOURCE, MPI_PROC_NULL);
    CHECK_INT(status.MPI_TAG, MPI_ANY_TAG);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK_INT(count, 0);
    CHECK_CALL(MPI_Request_free(&request));
    CHECK_INT(data, 77);
    return finish();
}
