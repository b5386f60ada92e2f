! ranks: 2
! expect: fatal MPI_SEND count
! MPI 5.0 section 9.3: errors are fatal by default; the message names routine and argument.
program fatal
#include "face_use.h"
  implicit none
#include "face_include.h"
  integer :: e, x(1) = 0
  call MPI_Init(e)
  call MPI_Send(x, -1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, e)
  print '(a)', 'not-reached'
end program fatal
