! ranks: 1
! skip-mpich: after an error handler of the program has returned, its calls return MPI_SUCCESS
! MPI 5.0 chapter 9: error handlers that are Fortran procedures, texts, classes of the program.
module procedures
#include "face_use.h"
  implicit none
#include "face_include.h"
  integer :: calls = 0, last = 0
contains
  subroutine handler(comm, error_code)
    HANDLE(MPI_Comm) :: comm
    integer :: error_code
    calls = calls + 1
    last = error_code
    if (comm /= MPI_COMM_SELF) last = -1
  end subroutine handler
end module procedures

program errors
  use procedures
  implicit none
  integer :: rank, size, failures = 0, e, n, class, code, x(1)
  HANDLE(MPI_Errhandler) :: h, was
  character(len=MPI_MAX_ERROR_STRING) :: text
  character(len=12) :: short
  call start()
  x = 0
  call MPI_Comm_create_errhandler(handler, h, e)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, h, e)
  call MPI_Comm_get_errhandler(MPI_COMM_SELF, was, e)
  CHECK(was == h)
  call MPI_Send(x, 1, MPI_INTEGER, 7, 0, MPI_COMM_SELF, e)
  CHECK(calls == 1 .and. last == e)
  call MPI_Error_class(e, class, e)
  CHECK(class == MPI_ERR_RANK)
  call MPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_TAG, e)
  CHECK(calls == 2 .and. last == MPI_ERR_TAG)
  call MPI_Errhandler_free(h, e)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, e)
  call MPI_Send(x, -1, MPI_INTEGER, 0, 0, MPI_COMM_SELF, code)
  call MPI_Error_class(code, class, e)
  CHECK(class == MPI_ERR_COUNT)
  text = repeat('x', len(text))
  call MPI_Error_string(code, text, n, e)
  CHECK(n > 0 .and. text(n + 1:) == ' ' .and. text(n:n) /= ' ')
  short = 'xxxxxxxxxxxx'
  call MPI_Error_string(MPI_ERR_RANK, short, n, e)
  CHECK(index(short, 'x') == 0 .or. n > 12)
  call MPI_Add_error_class(class, e)
  call MPI_Add_error_code(class, code, e)
  call MPI_Add_error_string(code, 'my own error   ', e)
  call MPI_Error_string(code, text, n, e)
  CHECK(text(1:n) == 'my own error')
  call finish()
contains
#include "check.h"
end program errors
