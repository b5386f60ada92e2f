! ranks: 2
! MPI 5.0 chapter 12: windows. A library without them must say MPI_ERR_UNSUPPORTED_OPERATION.
program one_sided
#include "face_use.h"
  implicit none
#include "face_include.h"
  integer :: rank, size, failures = 0, e, class, memory(4), x
  HANDLE(MPI_Win) :: w
  integer(kind=MPI_ADDRESS_KIND) :: value
  logical :: flag
  call start()
  memory = -1
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, e)
  call MPI_Win_create(memory, 16_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, w, e)
  if (e /= MPI_SUCCESS) then
    call MPI_Error_class(e, class, e)
    CHECK(class == MPI_ERR_UNSUPPORTED_OPERATION)
  else
    call MPI_Win_get_attr(w, MPI_WIN_SIZE, value, flag, e)
    CHECK(flag .and. value == 16)
    call MPI_Win_get_attr(w, MPI_WIN_DISP_UNIT, value, flag, e)
    CHECK(flag .and. value == 4)
    x = 40 + rank
    call MPI_Win_fence(0, w, e)
    call MPI_Put(x, 1, MPI_INTEGER, 1 - rank, 2_MPI_ADDRESS_KIND, 1, MPI_INTEGER, w, e)
    call MPI_Win_fence(0, w, e)
    SYNC(memory)
    CHECK(memory(3) == 41 - rank .and. memory(1) == -1)
    call MPI_Win_free(w, e)
    CHECK(w == MPI_WIN_NULL)
  end if
  call finish()
contains
#include "check.h"
end program one_sided
