/* ranks: 1 2 */
/* expect: fatal */
/* MPI 5.0 chapter 9, MPI_Abort on MPI_COMM_WORLD: the whole job ends, the ranks that are blocked in a receive too, and
 * the environment sees a failure. Nothing after the call runs. */
#include "check.h"

int main(int argc, char **argv)
{
    int data;
    start(&argc, &argv);
    if (world_rank == 0) MPI_Abort(MPI_COMM_WORLD, 7);
    MPI_Recv(&data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("not-reached\n");
    return finish();
}
