/* ranks: 2 */
/* MPI 5.0 section 3.5, order: if a message matches two receives that are both posted, the one posted first gets it, and
 * a wildcard is no less first than a full match. Receives: any tag, tag 5, any tag. Messages: tag 5 (first receive),
 * tag 5 (second), tag 6 (third). */
#include "check.h"

int main(int argc, char **argv)
{
    int in[3] = {0}, tags[3] = {MPI_ANY_TAG, 5, MPI_ANY_TAG}, sources[3] = {MPI_ANY_SOURCE, MPI_ANY_SOURCE, 0};
    MPI_Request requests[3];
    MPI_Status statuses[3];
    start(&argc, &argv);
    if (world_rank == 1)
        for (int i = 0; i < 3; i++) MPI_Irecv(&in[i], 1, MPI_INT, sources[i], tags[i], MPI_COMM_WORLD, &requests[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0) {
        int out[3] = {100, 101, 102};
        MPI_Send(&out[0], 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
        MPI_Send(&out[1], 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
        MPI_Send(&out[2], 1, MPI_INT, 1, 6, MPI_COMM_WORLD);
    } else {
        MPI_Waitall(3, requests, statuses);
        for (int i = 0; i < 3; i++) {
            CHECK_INT(in[i], 100 + i);
            CHECK_INT(statuses[i].MPI_TAG, i == 2 ? 6 : 5);
        }
    }
    return finish();
}
