! ranks: 2
! skip-mpich: after an error handler of the program has returned, its calls return MPI_SUCCESS
! MPI 5.0 sections 9.3 and 14.5.3: error handlers of windows, files and sessions, and a data
! representation, that are Fortran procedures.
module procedures
#include "face_use.h"
  implicit none
#include "face_include.h"
  integer :: win_calls = 0, file_calls = 0, session_calls = 0, extents = 0
  integer(MPI_ADDRESS_KIND) :: state = 0
contains
  subroutine of_win(win, error_code)
    HANDLE(MPI_Win) :: win
    integer :: error_code
    if (win /= MPI_WIN_NULL .and. error_code /= MPI_SUCCESS) win_calls = win_calls + 1
  end subroutine of_win
  subroutine of_file(file, error_code)
    HANDLE(MPI_File) :: file
    integer :: error_code
    if (file /= MPI_FILE_NULL .and. error_code /= MPI_SUCCESS) file_calls = file_calls + 1
  end subroutine of_file
  subroutine of_session(session, error_code)
    HANDLE(MPI_Session) :: session
    integer :: error_code
    if (session /= MPI_SESSION_NULL .and. error_code /= MPI_SUCCESS) &
      session_calls = session_calls + 1
  end subroutine of_session
  subroutine extent_of(datatype, extent, extra_state, ierror)
    HANDLE(MPI_Datatype) :: datatype
    integer(MPI_ADDRESS_KIND) :: extent, extra_state, low
    integer :: ierror
    call MPI_Type_get_extent(datatype, low, extent, ierror)
    extents = extents + 1
    state = extra_state
  end subroutine extent_of
end module procedures

program handlers
  use procedures
  implicit none
  integer :: rank, size, failures = 0, e, x(2)
  integer(MPI_ADDRESS_KIND) :: bytes
  HANDLE(MPI_Errhandler) :: h, was
  HANDLE(MPI_Win) :: win
  HANDLE(MPI_File) :: file
  HANDLE(MPI_Session) :: session
  HANDLE(MPI_Group) :: group
  call start()
  x = 0
  bytes = 8
  call MPI_Win_create(x, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, e)
  call MPI_Win_create_errhandler(of_win, h, e)
  call MPI_Win_set_errhandler(win, h, e)
  call MPI_Win_get_errhandler(win, was, e)
  CHECK(was == h)
  bytes = 0
  call MPI_Put(x, 1, MPI_INTEGER, 99, bytes, 1, MPI_INTEGER, win, e)
  CHECK(e /= MPI_SUCCESS .and. win_calls == 1)
  call MPI_Win_call_errhandler(win, MPI_ERR_OTHER, e)
  CHECK(win_calls == 2)
  call MPI_Errhandler_free(h, e)
  call MPI_Win_free(win, e)
  call MPI_Session_create_errhandler(of_session, h, e)
  call MPI_Session_init(MPI_INFO_NULL, h, session, e)
  CHECK(e == MPI_SUCCESS)
  call MPI_Group_from_session_pset(session, 'no such set', group, e)
  CHECK(e /= MPI_SUCCESS .and. session_calls == 1)
  call MPI_Session_finalize(session, e)
  call MPI_Errhandler_free(h, e)
  ! Files: errors are returned by default, and handled by the program if it asks for it.
  call MPI_File_open(MPI_COMM_SELF, '/no such folder/x', MPI_MODE_RDONLY, MPI_INFO_NULL, file, e)
  CHECK(e /= MPI_SUCCESS)
  call MPI_File_open(MPI_COMM_SELF, name(), ior(MPI_MODE_CREATE, ior(MPI_MODE_RDWR, &
    MPI_MODE_DELETE_ON_CLOSE)), MPI_INFO_NULL, file, e)
  CHECK(e == MPI_SUCCESS)
  call MPI_File_create_errhandler(of_file, h, e)
  call MPI_File_set_errhandler(file, h, e)
  call MPI_File_write(file, x, -1, MPI_INTEGER, MPI_STATUS_IGNORE, e)
  CHECK(e /= MPI_SUCCESS .and. file_calls == 1)
  ! A representation of the program: no conversion functions, extents by a procedure.
  bytes = 4711
  call MPI_Register_datarep('own', MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent_of, &
    bytes, e)
  CHECK(e == MPI_SUCCESS)
  call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'own', &
    MPI_INFO_NULL, e)
  call MPI_File_get_type_extent(file, MPI_DOUBLE_PRECISION, bytes, e)
  CHECK(bytes == 8 .and. extents > 0 .and. state == 4711)
  call MPI_Errhandler_free(h, e)
  call MPI_File_close(file, e)
  call finish()
contains
  function name()
    character(len=40) :: name
    write (name, '(a,i0,a,i0)') '/tmp/oxmpi-handlers-', rank, '-', clock()
  end function name
  integer function clock()
    call system_clock(clock)
  end function clock
#include "check.h"
end program handlers
