/* ranks: 1 2 */
/* skip-mpich: MPICH 5.0.2 ends the job when an allreduce has no datatype */
/* MPI 5.0 sections 3.2.2 and 9.4: a handle that names no datatype is MPI_ERR_TYPE in collectives, too. A process that
   passes one has not communicated, so all of them can go on. */
#include "check.h"

int main(int argc, char **argv)
{
    int data[4] = {0}, other[4] = {0}, sum = 0;
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Datatype none = MPI_DATATYPE_NULL;
    start(&argc, &argv);
    errors_return();
    CHECK_CLASS(MPI_Bcast(data, 1, none, 0, comm), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Allgather(data, 1, none, other, 1, none, comm), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Alltoall(data, 1, none, other, 1, none, comm), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Gather(data, 1, none, other, 1, none, 0, comm), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Scatter(data, 1, none, other, 1, none, 0, comm), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Allreduce(data, other, 1, none, MPI_SUM, comm), MPI_ERR_TYPE);
    MPI_Allreduce(&(int){1}, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK_INT(sum, world_size);
    return finish();
}
