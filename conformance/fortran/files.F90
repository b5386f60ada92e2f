! ranks: 2
! MPI 5.0 chapter 14: files. A library without them must say MPI_ERR_UNSUPPORTED_OPERATION.
program files
#include "face_use.h"
  implicit none
#include "face_include.h"
  integer :: rank, size, failures = 0, e, class, x(2), n
  HANDLE(MPI_File) :: f
  STATUS(s)
  character(len=64) :: name
  call start()
  if (rank == 0) call system_clock(n)
  call MPI_Bcast(n, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, e)
  write (name, '(a,i0)') '/tmp/oxmpi-fortran-', n
  call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_RDWR + &
    MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, f, e)
  if (e /= MPI_SUCCESS) then
    call MPI_Error_class(e, class, e)
    CHECK(class == MPI_ERR_UNSUPPORTED_OPERATION)
  else
    x = rank + 1
    call MPI_File_write_at_all(f, int(8 * rank, MPI_OFFSET_KIND), x, 2, MPI_INTEGER, s, e)
    call MPI_Get_count(s, MPI_INTEGER, n, e)
    CHECK(n == 2)
    call MPI_File_sync(f, e)
    call MPI_Barrier(MPI_COMM_WORLD, e)
    call MPI_File_sync(f, e)
    call MPI_File_read_at(f, int(8 * (1 - rank), MPI_OFFSET_KIND), x, 2, MPI_INTEGER, &
      MPI_STATUS_IGNORE, e)
    CHECK(all(x == 2 - rank))
    call MPI_File_close(f, e)
    CHECK(f == MPI_FILE_NULL)
    ! Section 14.3: the constant is an argument disp, so of the kind of offsets.
    CHECK(kind(MPI_DISPLACEMENT_CURRENT) == MPI_OFFSET_KIND)
    call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_WRONLY + &
      MPI_MODE_SEQUENTIAL + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, f, e)
    CHECK(e == MPI_SUCCESS)
    call MPI_File_set_view(f, MPI_DISPLACEMENT_CURRENT, MPI_INTEGER, MPI_INTEGER, 'native', &
      MPI_INFO_NULL, e)
    CHECK(e == MPI_SUCCESS)
    call MPI_File_close(f, e)
  end if
  call finish()
contains
#include "check.h"
end program files
