/* ranks: 1 2 */
/* MPI 5.0 section 3.2.4: a process may send to itself (with a nonblocking or buffered half, or it may deadlock).
 * MPI_COMM_SELF has one member, rank 0. A nonblocking send may be started before its receive. */
#include "check.h"

int main(int argc, char **argv)
{
    static int out[20000], in[20000];
    int rank = -1, size = -1;
    MPI_Request request;
    MPI_Status status;
    start(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_SELF, &rank);
    MPI_Comm_size(MPI_COMM_SELF, &size);
    CHECK_INT(rank, 0);
    CHECK_INT(size, 1);
    for (int i = 0; i < 20000; i++) out[i] = 3 * i + world_rank;
    for (int count = 1; count <= 20000; count += 19999) {
        MPI_Isend(out, count, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
        MPI_Recv(in, count, MPI_INT, 0, 1, MPI_COMM_SELF, &status);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK_BYTES(in, out, count * sizeof(int));
        memset(in, 0, sizeof in);
        MPI_Irecv(in, count, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
        MPI_Send(out, count, MPI_INT, world_rank, 2, MPI_COMM_WORLD);
        MPI_Wait(&request, &status);
        CHECK_INT(status.MPI_SOURCE, world_rank);
        CHECK_INT(status.MPI_TAG, 2);
        CHECK_BYTES(in, out, count * sizeof(int));
    }
    return finish();
}
