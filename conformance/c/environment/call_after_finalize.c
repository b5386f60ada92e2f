/* ranks: 1 */
/* expect: fatal MPI_Barrier */
/* MPI 5.0 chapter 11, MPI_Finalize: once it returned, no MPI routine may be called except those that are always
 * available; MPI_Barrier is not one of them, and the handler in force is fatal. */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Finalize();
    MPI_Barrier(MPI_COMM_WORLD);
    printf("not-reached\n");
    return 0;
}
