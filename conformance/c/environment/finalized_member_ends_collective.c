/* ranks: 2 3 */
/* skip-mpich: MPICH waits for ever */
/* MPI 5.0 sections 6.1 and 11.2.2: a collective needs a call by every process of the group, and a process that has
 * finalised calls nothing any more. A collective that such a process has not joined cannot end; OxMPI makes it an error
 * that names the process instead of waiting for ever. */
#include "check.h"

int main(int argc, char **argv)
{
    int own = 1, sum = 0;
    start(&argc, &argv);
    errors_return();
    /* What the last rank did before it finalised is there, although it has finalised long before rank 0 asks. */
    if (world_rank == 0) {
        double until = MPI_Wtime() + 0.2;
        while (MPI_Wtime() < until)
            continue;
    }
    CHECK_CALL(MPI_Reduce(&own, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
    if (world_rank == 0) {
        CHECK_INT(sum, world_size);
        CHECK_CLASS(MPI_Barrier(MPI_COMM_WORLD), MPI_ERR_PROC_ABORTED);
        /* Nor can it go on for ever where only room for what it sends is missing. */
        for (int i = 0; i < 100; i++)
            MPI_Bcast(&own, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    return finish();
}
