/* Every rank adds its number to a sum that all must agree on. Compiled as C and as C++ by `cargo xtask test`. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks, sum %d: %s\n", size, sum, sum == size * (size - 1) / 2 ? "correct" : "WRONG");
    MPI_Finalize();
    return 0;
}
