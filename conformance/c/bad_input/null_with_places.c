/* ranks: 1 2 */
/* skip-mpich: MPICH 5.0.2 writes to such places */
/* MPI 5.0 section 3.2.2: a null pointer is no buffer, nor is a place of a list that is counted from one. A process that
   passes one has not communicated, so all of them can go on. */
#include "check.h"

int main(int argc, char **argv)
{
    int data[2] = {0}, counts[2] = {1, 1}, places[2] = {1, 2}, sum = 0;
    MPI_Comm comm = MPI_COMM_WORLD;
    start(&argc, &argv);
    errors_return();
    CHECK_CLASS(MPI_Allgatherv(data, 1, MPI_INT, NULL, counts, places, MPI_INT, comm), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Alltoallv(data, counts, places, MPI_INT, NULL, counts, places, MPI_INT, comm), MPI_ERR_BUFFER);
    MPI_Allreduce(&(int){1}, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK_INT(sum, world_size);
    return finish();
}
