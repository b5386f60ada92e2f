/* ranks: 2 */
/* MPI 5.0 section 3.5: receives may be posted in any order of tags; each gets the earliest message that matches it, and
 * messages nobody asked for yet wait. Fifty tags are sent upwards and received downwards. */
#include "check.h"

int main(int argc, char **argv)
{
    int data[10];
    start(&argc, &argv);
    if (world_rank == 0) {
        for (int tag = 0; tag < 50; tag++) {
            for (int i = 0; i < 10; i++) data[i] = tag + i;
            MPI_Send(data, 10, MPI_INT, 1, tag, MPI_COMM_WORLD);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        for (int tag = 49; tag >= 0; tag--) {
            MPI_Recv(data, 10, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int i = 0; i < 10; i++) CHECK_INT(data[i], tag + i);
        }
    }
    return finish();
}
