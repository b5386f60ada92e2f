/* The loops in C, for comparison. */
#include <mpi.h>

void send_c_(const double *x, const int *calls);
void pingpong_c_(double *x, const int *calls, const int *rank);

void send_c_(const double *x, const int *calls)
{
    for (int i = 0; i < *calls; i++)
        MPI_Send(x, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
}

void pingpong_c_(double *x, const int *calls, const int *rank)
{
    for (int i = 0; i < *calls; i++) {
        if (*rank == 0)
            MPI_Send(x, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(x, 1, MPI_DOUBLE, 1 - *rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (*rank == 1)
            MPI_Send(x, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    }
}
