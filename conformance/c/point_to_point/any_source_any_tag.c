/* ranks: 2 3 4 */
/* MPI 5.0 section 3.2.4: MPI_ANY_SOURCE and MPI_ANY_TAG match every message of the communicator; the status tells which
 * it was. Every other rank sends one message whose tag and value follow from its rank, so each must arrive exactly
 * once. */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    if (world_rank != 0) {
        int data = 1000 + world_rank;
        MPI_Send(&data, 1, MPI_INT, 0, 10 * world_rank, MPI_COMM_WORLD);
        return finish();
    }
    int seen[16] = {0};
    for (int i = 1; i < world_size; i++) {
        int data = -1;
        MPI_Status status;
        MPI_Recv(&data, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        CHECK(status.MPI_SOURCE >= 1 && status.MPI_SOURCE < world_size);
        CHECK_INT(status.MPI_TAG, 10 * status.MPI_SOURCE);
        CHECK_INT(data, 1000 + status.MPI_SOURCE);
        seen[status.MPI_SOURCE & 15]++;
    }
    for (int i = 1; i < world_size; i++) CHECK_INT(seen[i], 1);
    return finish();
}
