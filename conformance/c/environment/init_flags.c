/* ranks: 1 2 */
/* MPI 5.0 chapter 11, MPI_Initialized and MPI_Finalized: both may be called at any time. The first says whether
 * MPI_Init has completed and stays true after MPI_Finalize; the second becomes true only once MPI_Finalize has
 * completed. */
#include "check.h"

int main(int argc, char **argv)
{
    int flag = -1;
    CHECK_INT(MPI_Initialized(&flag), MPI_SUCCESS);
    CHECK_INT(flag, 0);
    CHECK_INT(MPI_Finalized(&flag), MPI_SUCCESS);
    CHECK_INT(flag, 0);
    start(&argc, &argv);
    MPI_Initialized(&flag);
    CHECK_INT(flag, 1);
    MPI_Finalized(&flag);
    CHECK_INT(flag, 0);
    CHECK_INT(MPI_Finalize(), MPI_SUCCESS);
    MPI_Initialized(&flag);
    CHECK_INT(flag, 1);
    MPI_Finalized(&flag);
    CHECK_INT(flag, 1);
    return verdict();
}
