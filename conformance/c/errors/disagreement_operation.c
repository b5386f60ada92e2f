/* ranks: 2 3 */
/* expect: fatal MPI_Allreduce MPI_MAX MPI_SUM operation */
/* skip-mpich: it gives every rank a result of its own */
/* MPI 5.0 section 6.9.6: all processes give the same operation. One that does not is told, in a vector that fits a
 * cache line. */
#include "check.h"

int main(int argc, char **argv)
{
    int mine = 1, result = 0;
    start(&argc, &argv);
    MPI_Allreduce(&mine, &result, 1, MPI_INT, world_rank == 0 ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
    printf("not-reached\n");
    return finish();
}
