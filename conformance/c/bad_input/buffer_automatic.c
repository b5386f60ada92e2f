/* ranks: 1 */
/* skip-mpich: it takes the constant for an address in most calls */
/* MPI 5.0 section 3.6.2: MPI_BUFFER_AUTOMATIC is for the calls that attach buffers. As the address of data it is as
 * wrong as MPI_IN_PLACE where nothing is in place: an error of class MPI_ERR_BUFFER, and no memory is touched. */
#include "check.h"

int main(int argc, char **argv)
{
    int data[4] = {1, 2, 3, 4};
    char packed[64];
    int position = 0;
    start(&argc, &argv);
    errors_return();
    CHECK_CLASS(MPI_Reduce_local(MPI_BUFFER_AUTOMATIC, data, 2, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Reduce_local(data, MPI_BUFFER_AUTOMATIC, 2, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Reduce_local(MPI_IN_PLACE, data, 2, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Send(MPI_BUFFER_AUTOMATIC, 2, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Bcast(MPI_BUFFER_AUTOMATIC, 2, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Allreduce(MPI_BUFFER_AUTOMATIC, data, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Pack(MPI_BUFFER_AUTOMATIC, 2, MPI_INT, packed, 64, &position, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    CHECK_INT(data[0], 1);
    CHECK_INT(position, 0);
    return finish();
}
