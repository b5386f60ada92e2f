/* ranks: 2 3 4 */
/* MPI 5.0 section 6.12: any number of nonblocking collectives may be outstanding on one communicator, matched by the
 * order of the calls; they may be completed in any order, and point-to-point messages with any tag never meet them. */
#include "check.h"

enum { COUNT = 12 };

int main(int argc, char **argv)
{
    int in[COUNT], out[COUNT], root[COUNT], data[COUNT], message = -1;
    MPI_Request requests[2 * COUNT];
    start(&argc, &argv);
    int next = (world_rank + 1) % world_size, previous = (world_rank + world_size - 1) % world_size;
    for (int k = 0; k < COUNT; k++) {
        in[k] = world_rank + 10 * k;
        out[k] = -1;
        root[k] = k % world_size;
        data[k] = world_rank == root[k] ? 1000 + k : -1;
        MPI_Iallreduce(&in[k], &out[k], 1, MPI_INT, k % 2 ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD, &requests[2 * k]);
        MPI_Ibcast(&data[k], 1, MPI_INT, root[k], MPI_COMM_WORLD, &requests[2 * k + 1]);
    }
    MPI_Sendrecv(&world_rank, 1, MPI_INT, next, 0, &message, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK_INT(message, previous);
    for (int i = 2 * COUNT - 1; i >= 0; i -= 3) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    MPI_Waitall(2 * COUNT, requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < COUNT; k++) {
        CHECK_INT(out[k], k % 2 ? world_size - 1 + 10 * k : world_size * (world_size - 1) / 2 + 10 * k * world_size);
        CHECK_INT(data[k], 1000 + k);
    }
    return finish();
}
