! ranks: 2
! faces: mpif mpi
! skip-mpich: MPI_ADDRESS gives the low half of an address that does not fit
! MPI 5.0 section 17.1: procedures that MPI 3.0 removed are still there for older programs. Their
! addresses are default INTEGERs; one that does not fit is an error of class MPI_ERR_ARG.
program removed
#include "face_use.h"
  implicit none
#include "face_include.h"
  integer :: rank, size, failures = 0, e, class
  integer :: extent, lower, upper, handler, got, calls
  integer :: every, apart, pair, lengths(2), places(2), kinds(2)
  integer(MPI_ADDRESS_KIND) :: place
  integer :: numbers(8)
  character(len=16) :: both
  double precision :: value
  STATUS(s)
  common /counted/ calls
  external :: count_error
  call start()
  call MPI_TYPE_EXTENT(MPI_DOUBLE_PRECISION, extent, e)
  CHECK(e == MPI_SUCCESS .and. extent == 8)
  ! Every other number of four.
  call MPI_TYPE_HVECTOR(4, 1, 8, MPI_INTEGER, every, e)
  CHECK(e == MPI_SUCCESS)
  call MPI_TYPE_COMMIT(every, e)
  lengths = [1, 2]
  places = [4, 12]
  call MPI_TYPE_HINDEXED(2, lengths, places, MPI_INTEGER, apart, e)
  CHECK(e == MPI_SUCCESS)
  call MPI_TYPE_LB(apart, lower, e)
  call MPI_TYPE_UB(apart, upper, e)
  CHECK(lower == 4 .and. upper == 20)
  call MPI_TYPE_FREE(apart, e)
  numbers = 0
  if (rank == 0) then
    numbers = [1, 2, 3, 4, 5, 6, 7, 8]
    call MPI_SEND(numbers, 1, every, 1, 5, MPI_COMM_WORLD, e)
  else if (rank == 1) then
    call MPI_RECV(numbers, 4, MPI_INTEGER, 0, 5, MPI_COMM_WORLD, s, e)
    CHECK(all(numbers == [1, 3, 5, 7, 0, 0, 0, 0]))
  end if
  call MPI_TYPE_FREE(every, e)
  ! A number and two characters, packed by their displacements.
  lengths = [1, 2]
  places = [0, 8]
  kinds = [MPI_DOUBLE_PRECISION, MPI_CHARACTER]
  call MPI_TYPE_STRUCT(2, lengths, places, kinds, pair, e)
  CHECK(e == MPI_SUCCESS)
  call MPI_TYPE_COMMIT(pair, e)
  both = transfer(1.5d0, both)
  both(9:10) = 'ab'
  if (rank == 0) then
    call MPI_SEND(both, 1, pair, 1, 6, MPI_COMM_WORLD, e)
  else if (rank == 1) then
    both = ' '
    call MPI_RECV(both, 1, pair, 0, 6, MPI_COMM_WORLD, s, e)
    value = transfer(both(1:8), value)
    CHECK(value == 1.5d0 .and. both(9:10) == 'ab')
  end if
  call MPI_TYPE_FREE(pair, e)
  ! Error handlers of communicators.
  calls = 0
  call MPI_ERRHANDLER_CREATE(count_error, handler, e)
  CHECK(e == MPI_SUCCESS)
  call MPI_ERRHANDLER_SET(MPI_COMM_SELF, handler, e)
  CHECK(e == MPI_SUCCESS)
  call MPI_ERRHANDLER_GET(MPI_COMM_SELF, got, e)
  CHECK(got == handler)
  ! An address is told as it is, or refused.
  call MPI_GET_ADDRESS(numbers, place, e)
  call MPI_ADDRESS(numbers, got, e)
  if (place <= huge(got)) then
    CHECK(e == MPI_SUCCESS .and. got == place .and. calls == 0)
  else
    call MPI_ERROR_CLASS(e, class, got)
    CHECK(class == MPI_ERR_ARG .and. calls == 1)
  end if
  call MPI_ERRHANDLER_SET(MPI_COMM_SELF, MPI_ERRORS_RETURN, e)
  call MPI_ERRHANDLER_FREE(handler, e)
  call finish()
contains
#include "check.h"
end program removed

subroutine count_error(comm, code)
  implicit none
  integer :: comm, code, calls
  common /counted/ calls
  calls = calls + 1
end subroutine count_error
