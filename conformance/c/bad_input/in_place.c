/* ranks: 1 */
/* skip-mpich: it takes the constants for addresses, and crashes */
/* MPI 5.0 sections 6.2.3 and 9.4: MPI_IN_PLACE stands for a buffer of some collectives, MPI_BUFFER_AUTOMATIC for an
 * attached buffer. Neither is memory that a message can be sent from or received into: MPI_ERR_BUFFER. */
#include "check.h"

static void refused(void *buffer)
{
    int data = 0, position = 0;
    char packed[16] = "";
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request request;
    MPI_Status *ignore = MPI_STATUS_IGNORE;
    CHECK_CLASS(MPI_Send(buffer, 1, MPI_INT, 0, 0, comm), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Ssend(buffer, 1, MPI_INT, 0, 0, comm), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Rsend(buffer, 1, MPI_INT, 0, 0, comm), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Bsend(buffer, 1, MPI_INT, 0, 0, comm), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Isend(buffer, 1, MPI_INT, 0, 0, comm, &request), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Isend_c(buffer, 1000, MPI_INT, 0, 0, comm, &request), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Recv(buffer, 1, MPI_INT, 0, 0, comm, ignore), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Irecv(buffer, 1, MPI_INT, 0, 0, comm, &request), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Send_init(buffer, 1, MPI_INT, 0, 0, comm, &request), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Recv_init(buffer, 1, MPI_INT, 0, 0, comm, &request), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Psend_init(buffer, 2, 1, MPI_INT, 0, 0, comm, MPI_INFO_NULL, &request), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Precv_init(buffer, 2, 1, MPI_INT, 0, 0, comm, MPI_INFO_NULL, &request), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Sendrecv(buffer, 1, MPI_INT, 0, 0, &data, 1, MPI_INT, 0, 0, comm, ignore), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Sendrecv(&data, 1, MPI_INT, 0, 0, buffer, 1, MPI_INT, 0, 0, comm, ignore), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Sendrecv_replace(buffer, 1, MPI_INT, 0, 0, 0, 0, comm, ignore), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Isendrecv_replace(buffer, 1, MPI_INT, 0, 0, 0, 0, comm, &request), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Pack(buffer, 1, MPI_INT, packed, 16, &position, comm), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Unpack(packed, 16, &position, buffer, 1, MPI_INT, comm), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Bcast(buffer, 1, MPI_INT, 0, comm), MPI_ERR_BUFFER);
}

/* A message that has arrived is not lost by a call that fails. */
static void matched(void *buffer)
{
    int data = 17, got = 0;
    MPI_Message message;
    MPI_Request request;
    CHECK_CALL(MPI_Isend(&data, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &request));
    CHECK_CALL(MPI_Mprobe(0, 3, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    CHECK_CLASS(MPI_Mrecv(buffer, 1, MPI_INT, &message, MPI_STATUS_IGNORE), MPI_ERR_BUFFER);
    CHECK_CALL(MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
    CHECK_CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_INT(got, 17);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    errors_return();
    refused(MPI_IN_PLACE);
    refused(MPI_BUFFER_AUTOMATIC);
    matched(MPI_IN_PLACE);
    CHECK_CALL(MPI_Send(MPI_BOTTOM, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    return finish();
}
