! ranks: 1
! MPI 5.0 chapter 10: keys and values without their blanks, lengths without a final zero.
program information
#include "face_use.h"
  implicit none
#include "face_include.h"
  integer :: rank, size, failures = 0, e, n
  logical :: flag
  HANDLE(MPI_Info) :: i, j
  character(len=MPI_MAX_INFO_VAL) :: value
  character(len=MPI_MAX_INFO_KEY) :: key
  call start()
  call MPI_Info_create(i, e)
  call MPI_Info_set(i, '  colour  ', '  dark green ', e)
  call MPI_Info_set(i, 'size', '12', e)
  call MPI_Info_get_nkeys(i, n, e)
  CHECK(n == 2)
  value = repeat('x', len(value))
  call MPI_Info_get(i, 'colour', len(value), value, flag, e)
  CHECK(flag .and. value == 'dark green')
  call MPI_Info_get_valuelen(i, 'colour', n, flag, e)
  CHECK(flag .and. n == 10)
  call MPI_Info_get(i, 'missing', len(value), value, flag, e)
  CHECK(.not. flag)
#ifndef ON_MPICH
  n = len(value)
  call MPI_Info_get_string(i, 'size', n, value, flag, e)
  CHECK(flag .and. value == '12' .and. n == 2)
  n = 0
  call MPI_Info_get_string(i, 'colour', n, value, flag, e)
  CHECK(flag .and. n == 10)
#endif
  call MPI_Info_get_nthkey(i, 0, key, e)
  CHECK(key == 'colour' .or. key == 'size')
  call MPI_Info_dup(i, j, e)
  call MPI_Info_delete(i, 'size', e)
  call MPI_Info_get_nkeys(j, n, e)
  CHECK(n == 2)
  call MPI_Info_free(i, e)
  call MPI_Info_free(j, e)
  CHECK(j == MPI_INFO_NULL)
  call finish()
contains
#include "check.h"
end program information
