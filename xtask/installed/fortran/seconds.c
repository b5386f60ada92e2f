/* A C part that gets a communicator from Fortran. */
#include <mpi.h>

void c_barrier_(const MPI_Fint *comm, MPI_Fint *error);

void c_barrier_(const MPI_Fint *comm, MPI_Fint *error)
{
    *error = MPI_Barrier(MPI_Comm_f2c(*comm));
}
