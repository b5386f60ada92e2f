/* ranks: 2 */
/* MPI 5.0 section 3.6 (since 4.1): a buffer attached to a communicator serves the buffered sends on it and no other; a
 * flush returns when everything buffered so far has been sent on, leaving the buffer attached. */
#include "check.h"

static char buffer[2 * (4 + MPI_BSEND_OVERHEAD)];

int main(int argc, char **argv)
{
    int data = 0, size = 0;
    void *address = NULL;
    MPI_Comm comm;
    MPI_Request request;
    start(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (world_rank == 0) {
        CHECK_CALL(MPI_Comm_attach_buffer(comm, buffer, sizeof buffer));
        for (data = 1; data <= 10; data++) {
            CHECK_CALL(MPI_Bsend(&data, 1, MPI_INT, 1, 0, comm));
            if (data % 2) CHECK_CALL(MPI_Comm_flush_buffer(comm));
        }
        CHECK_CALL(MPI_Comm_iflush_buffer(comm, &request));
        CHECK_CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_CLASS(MPI_Bsend(&data, 1, MPI_INT, 1, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
        CHECK_CALL(MPI_Comm_detach_buffer(comm, &address, &size));
        CHECK(address == (void *)buffer);
        CHECK_INT(size, sizeof buffer);
    } else {
        for (int i = 1; i <= 10; i++) {
            MPI_Recv(&data, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
            CHECK_INT(data, i);
        }
    }
    MPI_Comm_free(&comm);
    return finish();
}
