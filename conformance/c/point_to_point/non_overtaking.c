/* ranks: 2 */
/* MPI 5.0 section 3.5, order: two messages of one sender that both match a receive are received in the order sent,
 * whatever their sizes (small ones may not pass a large one), and with any tag too. */
#include "check.h"

enum { MESSAGES = 60, LARGE = 200000 };

int main(int argc, char **argv)
{
    int *data = malloc(LARGE * sizeof(int));
    MPI_Status status;
    start(&argc, &argv);
    for (int i = 0; i < MESSAGES; i++) {
        int count = i % 3 == 0 ? LARGE : 1 + i, got = -1;
        if (world_rank == 0) {
            data[0] = i;
            data[count - 1] = i;
            MPI_Send(data, count, MPI_INT, 1, i % 2, MPI_COMM_WORLD);
        } else {
            MPI_Recv(data, LARGE, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_INT, &got);
            CHECK_INT(got, count);
            CHECK_INT(data[0], i);
            CHECK_INT(data[count - 1], i);
            CHECK_INT(status.MPI_TAG, i % 2);
        }
    }
    free(data);
    return finish();
}
