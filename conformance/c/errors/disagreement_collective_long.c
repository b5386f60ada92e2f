/* ranks: 2 */
/* expect: fatal bcast reduce */
/* skip-mpich: it takes the one for the other */
/* MPI 5.0 section 6.12: all processes call the collectives of a communicator in the same order. One that calls another is
 * told, in vectors that travel as messages. */
#include "check.h"

enum { COUNT = 1 << 18 };

int main(int argc, char **argv)
{
    static double mine[COUNT], result[COUNT];
    start(&argc, &argv);
    if (world_rank == 0)
        MPI_Reduce(mine, result, COUNT, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    else
        MPI_Bcast(mine, COUNT, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("not-reached\n");
    return finish();
}
