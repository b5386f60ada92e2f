/* ranks: 2 */
/* MPI 5.0 section 3.2.3: tags run from 0 to the value of MPI_TAG_UB inclusive, so both ends are legal and are told
 * apart. */
#include "check.h"

int main(int argc, char **argv)
{
    int *bound = NULL, flag = 0, data;
    MPI_Status status;
    start(&argc, &argv);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &flag);
    CHECK_INT(flag, 1);
    if (world_rank == 0) {
        data = 1;
        CHECK_CALL(MPI_Send(&data, 1, MPI_INT, 1, *bound, MPI_COMM_WORLD));
        data = 2;
        CHECK_CALL(MPI_Send(&data, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
    } else {
        MPI_Recv(&data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &status);
        CHECK_INT(data, 2);
        CHECK_INT(status.MPI_TAG, 0);
        MPI_Recv(&data, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        CHECK_INT(data, 1);
        CHECK_INT(status.MPI_TAG, *bound);
    }
    return finish();
}
