! ranks: 2
! faces: f08
! skip-mpich: MPI_Status_set_source and its kin are later than it
! MPI 5.0 sections 3.2.5 and 19.3.5: statuses of both kinds of Fortran programs, and their fields.
program statuses
#include "face_use.h"
  implicit none
  integer :: rank, size, failures = 0, e, n, in, old(MPI_STATUS_SIZE)
  type(MPI_Status) :: status, again
  logical :: flag
  call start()
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, 1 - rank, 8, in, 1, MPI_INTEGER, 1 - rank, 8, &
    MPI_COMM_WORLD, status)
  call MPI_Status_f082f(status, old)
  CHECK(old(1) == 1 - rank .and. old(2) == 8 .and. old(3) == status%MPI_ERROR)
  call MPI_Status_f2f08(old, again, e)
  CHECK(e == MPI_SUCCESS .and. again%MPI_SOURCE == 1 - rank .and. again%MPI_TAG == 8)
  call MPI_Get_count(again, MPI_INTEGER, n)
  CHECK(n == 1)
  call MPI_Test_cancelled(again, flag)
  CHECK(.not. flag)
  call MPI_Status_set_source(again, 5)
  call MPI_Status_set_tag(again, 6)
  call MPI_Status_set_error(again, MPI_ERR_TAG)
  call MPI_Status_set_elements(again, MPI_INTEGER, 3_MPI_COUNT_KIND)
  CHECK(again%MPI_SOURCE == 5 .and. again%MPI_TAG == 6 .and. again%MPI_ERROR == MPI_ERR_TAG)
  call MPI_Status_get_source(again, n)
  CHECK(n == 5)
  call MPI_Get_elements(again, MPI_INTEGER, n)
  CHECK(n == 3)
  call finish()
contains
#include "check.h"
end program statuses
