! ranks: 2
! skip-mpich: sizes of types are fixed when it is built
! MPI 5.0 chapter 20: a program whose default types have other sizes, as by -fdefault-real-8, tells
! them before the types are used.
program sizes
#include "face_use.h"
  implicit none
#include "face_include.h"
  integer :: rank, size, failures = 0, e, n
  real(8) :: x(4), pair(2)
  complex(8) :: z
  HANDLE(MPI_Info) :: info
  call MPI_Info_create(info, e)
  call MPI_Info_set(info, 'mpi_real_size', '8', e)
  call MPI_Info_set(info, 'mpi_double_precision_size', '16', e)
  call MPI_Abi_set_fortran_info(info, e)
  CHECK(e == MPI_SUCCESS)
  call MPI_Info_free(info, e)
  call start()
  call MPI_Type_size(MPI_REAL, n, e)
  CHECK(n == 8)
  call MPI_Type_size(MPI_COMPLEX, n, e)
  CHECK(n == 16)
  call MPI_Type_size(MPI_DOUBLE_PRECISION, n, e)
  CHECK(n == 16)
  call MPI_Type_size(MPI_INTEGER, n, e)
  CHECK(n == 4)
  x = rank + 0.25d0
  call MPI_Allreduce(MPI_IN_PLACE, x, 4, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, e)
  CHECK(all(x == 1.5d0))
  z = (1d0, 2d0)
  call MPI_Allreduce(MPI_IN_PLACE, z, 1, MPI_COMPLEX, MPI_PROD, MPI_COMM_WORLD, e)
  CHECK(z == (-3d0, 4d0))
  pair = [-rank, rank]
  call MPI_Allreduce(MPI_IN_PLACE, pair, 1, MPI_2REAL, MPI_MINLOC, MPI_COMM_WORLD, e)
  CHECK(pair(1) == -1 .and. pair(2) == 1)
  x(1:2) = rank
  call MPI_Sendrecv_replace(x(1:3:2), 2, MPI_REAL, 1 - rank, 0, 1 - rank, 0, MPI_COMM_WORLD, &
    MPI_STATUS_IGNORE, e)
  CHECK(x(1) == 1 - rank .and. x(2) == rank .and. x(3) == 1.5d0)
  ! Told once only.
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, e)
  call MPI_Info_create(info, e)
  call MPI_Abi_set_fortran_info(info, e)
  CHECK(e == MPI_ERR_ABI)
  call MPI_Info_free(info, e)
  call finish()
contains
#include "check.h"
end program sizes
