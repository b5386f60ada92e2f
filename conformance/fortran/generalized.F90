! ranks: 1
! MPI 5.0 section 13.2: generalized requests with Fortran procedures.
module procedures
#include "face_use.h"
  implicit none
#include "face_include.h"
  integer :: freed = 0, cancelled = 0
  ! Of a module, because any procedure may change it.
  integer(kind=MPI_ADDRESS_KIND) :: extra = 0
contains
  subroutine query(extra_state, status, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    STATUS(status)
    integer :: ierror
    call MPI_Status_set_elements(status, MPI_INTEGER, int(extra_state), ierror)
    call MPI_Status_set_cancelled(status, .false., ierror)
    FIELD(status, MPI_SOURCE) = 3
    FIELD(status, MPI_TAG) = 4
    ierror = MPI_SUCCESS
  end subroutine query

  subroutine release(extra_state, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    freed = freed + int(extra_state)
    ! What a procedure makes of its state is in the variable that the program has named.
    if (extra_state == 5) extra_state = 6
    ierror = MPI_SUCCESS
  end subroutine release

  subroutine cancel(extra_state, complete, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    if (.not. complete) cancelled = cancelled + 1
    ierror = MPI_SUCCESS
  end subroutine cancel
end module procedures

program generalized
  use procedures
  implicit none
  integer :: rank, size, failures = 0, e, n
  logical :: flag
  HANDLE(MPI_Request) :: r
  STATUS(s)
  call start()
  call MPI_Grequest_start(query, release, cancel, 11_MPI_ADDRESS_KIND, r, e)
  call MPI_Test(r, flag, s, e)
  CHECK(.not. flag)
  call MPI_Cancel(r, e)
  CHECK(cancelled == 1)
  call MPI_Grequest_complete(r, e)
  call MPI_Wait(r, s, e)
  CHECK(FIELD(s, MPI_SOURCE) == 3 .and. FIELD(s, MPI_TAG) == 4)
  call MPI_Get_count(s, MPI_INTEGER, n, e)
  CHECK(n == 11 .and. freed == 11)
  CHECK(r == MPI_REQUEST_NULL)
  extra = 5
  call MPI_Grequest_start(query, release, cancel, extra, r, e)
  call MPI_Grequest_complete(r, e)
  call MPI_Wait(r, s, e)
  CHECK(extra == 6)
  call finish()
contains
#include "check.h"
end program generalized
