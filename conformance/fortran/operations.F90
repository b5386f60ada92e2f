! ranks: 3
! MPI 5.0 section 6.9.5: operations that are Fortran procedures; reductions in order.
module procedures
#include "face_use.h"
#ifdef FACE_F08
  use, intrinsic :: iso_c_binding
#endif
  implicit none
#include "face_include.h"
contains
#ifdef FACE_F08
  subroutine digits(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    call c_f_pointer(invec, a, [len])
    call c_f_pointer(inoutvec, b, [len])
    if (datatype /= MPI_INTEGER) call MPI_Abort(MPI_COMM_WORLD, 2)
    b = 10 * a + b
  end subroutine digits

  subroutine greatest(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer(kind=MPI_COUNT_KIND) :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    call c_f_pointer(invec, a, [len])
    call c_f_pointer(inoutvec, b, [len])
    b = max(a, b)
  end subroutine greatest
#else
  subroutine digits(invec, inoutvec, len, datatype)
    integer :: len, datatype, e
    integer :: invec(len), inoutvec(len)
    if (datatype /= MPI_INTEGER) call MPI_Abort(MPI_COMM_WORLD, 2, e)
    inoutvec = 10 * invec + inoutvec
  end subroutine digits
#endif
end module procedures

program operations
  use procedures
  implicit none
  integer :: rank, size, failures = 0, e, a(4), b(4)
  logical :: commutes
  HANDLE(MPI_Op) :: op
  call start()
  ! Two digits at most, so that 10*a+b is associative for these ranks: 0 then 1 then 2.
  call MPI_Op_create(digits, .false., op, e)
  call MPI_Op_commutative(op, commutes, e)
  CHECK(.not. commutes)
  a = 2
  b = 3
  call MPI_Reduce_local(a, b, 4, MPI_INTEGER, op, e)
  CHECK(all(b == 23))
  call MPI_Scan(rank, b(1), 1, MPI_INTEGER, op, MPI_COMM_WORLD, e)
  CHECK(rank > 1 .or. b(1) == rank)
  call MPI_Op_free(op, e)
  CHECK(op == MPI_OP_NULL)
  call MPI_Op_create(digits, .true., op, e)
  call MPI_Op_commutative(op, commutes, e)
  CHECK(commutes)
  call MPI_Op_free(op, e)
#ifdef FACE_F08
#ifndef ON_MPICH
  call MPI_Op_create_c(greatest, .true., op, e)
  a = rank
  call MPI_Allreduce(a, b, 4_MPI_COUNT_KIND, MPI_INTEGER, op, MPI_COMM_WORLD, e)
  CHECK(all(b == 2))
  call MPI_Op_free(op, e)
#endif
#endif
  call finish()
contains
#include "check.h"
end program operations
