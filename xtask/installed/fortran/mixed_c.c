/* The C half of a program in two languages: handles, attributes and statuses cross (MPI 5.0 19.3).
 * With FORTRAN_FIRST the other half has the main program and starts MPI. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

void fortran_part_(const MPI_Fint *comm, const MPI_Fint *type, MPI_Fint *keyval, MPI_Fint *good);
void c_part_(const MPI_Fint *comm, const MPI_Fint *keyval, const MPI_Fint *status, MPI_Fint *good);

static MPI_Aint pointed = 99;

/* Fortran has set an attribute of 1234567890123 and passes a status. */
void c_part_(const MPI_Fint *comm, const MPI_Fint *keyval, const MPI_Fint *f_status, MPI_Fint *good)
{
    MPI_Comm c = MPI_Comm_f2c(*comm);
    MPI_Status status, back;
    MPI_Fint again[MPI_F_STATUS_SIZE];
    void *value = 0;
    int flag = 0, count = 0;
    MPI_Comm_get_attr(c, *keyval, &value, &flag);
    *good = flag && *(MPI_Aint *)value == 1234567890123;
    /* What C sets, Fortran reads as an address. */
    MPI_Comm_set_attr(c, *keyval, &pointed);
    MPI_Status_f2c(f_status, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    *good = *good && status.MPI_TAG == 17 && count == 3;
    MPI_Status_c2f(&status, again);
    MPI_Status_f2c(again, &back);
    *good = *good && memcmp(&status, &back, sizeof status) == 0;
    *good = *good && MPI_Comm_c2f(c) == *comm && MPI_Comm_f2c(MPI_Comm_c2f(c)) == c;
}

#ifndef FORTRAN_FIRST
int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Datatype type;
    MPI_Fint f_comm, f_type, keyval, good = 0;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Type_commit(&type);
    f_comm = MPI_Comm_c2f(comm);
    f_type = MPI_Type_c2f(type);
    fortran_part_(&f_comm, &f_type, &keyval, &good);
    MPI_Type_free(&type);
    if (rank == 0)
        puts(good ? "correct" : "wrong");
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return good ? 0 : 1;
}
#endif
