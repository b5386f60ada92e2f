/* ranks: 2 */
/* MPI 5.0 section 3.6 (since 4.1): a buffer attached to a session serves the buffered sends on the communicators made from that
 * session which have no buffer of their own. Detaching it waits for delivery and gives it back. */
#include "check.h"

static char buffer[4 + MPI_BSEND_OVERHEAD];

int main(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int data = 0, size = 0;
    void *address = NULL;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "conformance", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Comm_rank(comm, &world_rank);
    if (world_rank == 0) {
        CHECK_CALL(MPI_Session_attach_buffer(session, buffer, sizeof buffer));
        for (data = 1; data <= 3; data++) {
            CHECK_CALL(MPI_Bsend(&data, 1, MPI_INT, 1, 0, comm));
            CHECK_CALL(MPI_Session_flush_buffer(session));
        }
        CHECK_CALL(MPI_Session_detach_buffer(session, &address, &size));
        CHECK(address == (void *)buffer);
        CHECK_INT(size, sizeof buffer);
    } else {
        for (int i = 1; i <= 3; i++) {
            MPI_Recv(&data, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
            CHECK_INT(data, i);
        }
    }
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    return verdict();
}
