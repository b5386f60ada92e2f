/* ranks: 2 */
/* skip-mpich: it makes a communicator of a grid with a negative dimension */
/* MPI 5.0 section 8.5.1: the entries of dims are positive; a negative one is MPI_ERR_DIMS, and no communicator is made. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Comm comm;
    start(&argc, &argv);
    errors_return();
    CHECK_CLASS(MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){-1, 2}, (int[]){0, 0}, 0, &comm), MPI_ERR_DIMS);
    CHECK_CLASS(MPI_Cart_create(MPI_COMM_WORLD, 1, (int[]){-2}, (int[]){0}, 0, &comm), MPI_ERR_DIMS);
    return finish();
}
