/* ranks: 1 2 3 */
/* programs */
/* MPI 5.0 section 11.10.3: for mpiexec spec0 : spec1 : ..., MPI_APPNUM is the number of the specification that the
 * process was started by, from 0. Here each rank has one of its own, in order. */
#include "check.h"

int main(int argc, char **argv)
{
    int *value = NULL, flag = 0;
    start(&argc, &argv);
    CHECK_CALL(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag));
    CHECK_INT(flag, 1);
    if (flag) CHECK_INT(*value, world_rank);

    /* What coupled programs do with it: a communicator for each program. */
    MPI_Comm mine;
    int size = -1;
    MPI_Comm_split(MPI_COMM_WORLD, flag ? *value : 0, 0, &mine);
    MPI_Comm_size(mine, &size);
    CHECK_INT(size, 1);
    MPI_Comm_free(&mine);
    return finish();
}
