/* ranks: 2 3 */
/* expect: fatal MPI_Reduce MPI_MAX MPI_SUM operation */
/* skip-mpich: it gives the root a result of both */
/* MPI 5.0 section 6.9.1: all processes give the same operation. One that does not is told, in vectors that travel as
 * messages. */
#include "check.h"

enum { COUNT = 1 << 18 };

int main(int argc, char **argv)
{
    static double mine[COUNT], result[COUNT];
    start(&argc, &argv);
    MPI_Reduce(mine, result, COUNT, MPI_DOUBLE, world_rank == 1 ? MPI_MAX : MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("not-reached\n");
    return finish();
}
