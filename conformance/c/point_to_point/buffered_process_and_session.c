/* ranks: 1 2 */
/* MPI 5.0 section 3.6 (since 4.1): the buffer of the process serves communicators made from a session, too, as long as
 * neither the communicator nor its session has a buffer. */
#include "check.h"

#define BYTES (4 + MPI_BSEND_OVERHEAD)

static char of_process[BYTES], of_session[BYTES];

static int send_one(MPI_Comm comm)
{
    int sent = 17, got = 0, code, rank, size;
    MPI_Request request;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, 0, comm, &request);
    code = MPI_Bsend(&sent, 1, MPI_INT, (rank + 1) % size, 0, comm);
    if (code != MPI_SUCCESS) {
        MPI_Cancel(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        return code;
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_INT(got, 17);
    return code;
}

int main(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    void *address;
    int size;

    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "buffers", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Comm_rank(comm, &world_rank);
    MPI_Comm_size(comm, &world_size);

    CHECK_CLASS(send_one(comm), MPI_ERR_BUFFER);
    MPI_Barrier(comm);
    CHECK_CALL(MPI_Buffer_attach(of_process, BYTES));
    CHECK_CALL(send_one(comm));
    CHECK_CALL(MPI_Session_attach_buffer(session, of_session, BYTES));
    CHECK_CALL(send_one(comm));
    CHECK_CALL(MPI_Session_detach_buffer(session, &address, &size));
    CHECK(address == (void *)of_session);
    CHECK_CALL(MPI_Buffer_flush());
    CHECK_CALL(send_one(comm));
    CHECK_CALL(MPI_Buffer_detach(&address, &size));
    CHECK(address == (void *)of_process);

    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    return verdict();
}
