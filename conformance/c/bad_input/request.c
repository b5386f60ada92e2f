/* ranks: 1 */
/* MPI 5.0 sections 3.7 and 3.9: requests that a call cannot take are MPI_ERR_REQUEST: starting one that is not
 * persistent, or null, or active; freeing or cancelling the null request; completing as generalized one that is not. */
#include "check.h"

int main(int argc, char **argv)
{
    int data = 0, out = 1;
    MPI_Request plain, null = MPI_REQUEST_NULL, persistent;
    start(&argc, &argv);
    errors_return();
    MPI_Irecv(&data, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &plain);
    CHECK_CLASS(MPI_Start(&plain), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Start(&null), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Startall(1, &plain), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Request_free(&null), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Cancel(&null), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Grequest_complete(plain), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Pready(0, plain), MPI_ERR_REQUEST);
    MPI_Recv_init(&data, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &persistent);
    CHECK_CALL(MPI_Start(&persistent));
    CHECK_CLASS(MPI_Start(&persistent), MPI_ERR_REQUEST);
    MPI_Send(&out, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
    MPI_Send(&out, 1, MPI_INT, 0, 2, MPI_COMM_SELF);
    CHECK_CALL(MPI_Wait(&plain, MPI_STATUS_IGNORE));
    CHECK_CALL(MPI_Wait(&persistent, MPI_STATUS_IGNORE));
    CHECK_CALL(MPI_Request_free(&persistent));
    return finish();
}
