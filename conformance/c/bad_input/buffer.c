/* ranks: 1 */
/* MPI 5.0 sections 9.4 and 3.6: no memory at all for a non-empty message of a predefined type is MPI_ERR_BUFFER; so is
 * a buffered send without an attached buffer. Attaching a second buffer is an error. With count 0 the pointer is not
 * looked at. */
#include "check.h"

int main(int argc, char **argv)
{
    int data = 0;
    static char first[1000 + MPI_BSEND_OVERHEAD], second[1000 + MPI_BSEND_OVERHEAD];
    MPI_Request request;
    start(&argc, &argv);
    errors_return();
    CHECK_CLASS(MPI_Send(NULL, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Recv(NULL, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Irecv(NULL, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Bcast(NULL, 1, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    CHECK_CALL(MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD));
    CHECK_CLASS(MPI_Bsend(&data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    CHECK_CALL(MPI_Buffer_attach(first, sizeof first));
    CHECK(MPI_Buffer_attach(second, sizeof second) != MPI_SUCCESS);
    CHECK_CALL(MPI_Buffer_detach(&(void *){NULL}, &data));
    return finish();
}
