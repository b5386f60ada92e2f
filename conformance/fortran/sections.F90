! ranks: 2
! faces: f08 mpi
! skip-mpich: sections in collectives, and in nonblocking ones, are refused or wrong there
! MPI 5.0 section 19.1.12: a section of an array is a buffer like any other.
program sections
#include "face_use.h"
  implicit none
  integer :: rank, size, failures = 0, e, i, other, n
  integer, asynchronous :: a(6, 6), b(6, 6), v(12), w(12), want(6, 6), c(3), line(6)
  HANDLE(MPI_Request) :: r, rs(2)
  HANDLE(MPI_Datatype) :: pairs
  double precision :: d(10)
  type point
    sequence
    integer :: x, y, z
  end type point
  type(point) :: p(4)
  call start()
  other = 1 - rank
  CHECK(MPI_SUBARRAYS_SUPPORTED .and. MPI_ASYNC_PROTECTS_NONBLOCKING)
  a = reshape([(i + 100 * rank, i = 1, 36)], [6, 6])
  b = -1
  ! Two dimensions, both with gaps, nonblocking.
  call MPI_Isend(a(1:6:2, 2:6:2), 9, MPI_INTEGER, other, 1, MPI_COMM_WORLD, rs(1), e)
  call MPI_Irecv(b(2:6:2, 1:3), 9, MPI_INTEGER, other, 1, MPI_COMM_WORLD, rs(2), e)
  call MPI_Waitall(2, rs, MPI_STATUSES_IGNORE, e)
  want = -1
  want(2:6:2, 1:3) = reshape([7, 9, 11, 19, 21, 23, 31, 33, 35], [3, 3]) + 100 * other
  CHECK(all(b == want))
  ! Backwards, and fewer than the section holds.
  v = [(i, i = 1, 12)]
  w = 0
  call MPI_Sendrecv(v(12:1:-1), 5, MPI_INTEGER, other, 2, w(1:12:2), 5, MPI_INTEGER, other, 2, &
    MPI_COMM_WORLD, MPI_STATUS_IGNORE, e)
  CHECK(all(w(1:9:2) == [12, 11, 10, 9, 8]) .and. w(11) == 0 .and. all(w(2:12:2) == 0))
  ! Part of a row, which ends within a column of the section.
  b = -1
  call MPI_Sendrecv(a(1:4, 1:5:2), 6, MPI_INTEGER, other, 3, b(1, :), 6, MPI_INTEGER, other, 3, &
    MPI_COMM_WORLD, MPI_STATUS_IGNORE, e)
  CHECK(all(b(1, :) == [1, 2, 3, 4, 13, 14] + 100 * other) .and. all(b(2:, :) == -1))
  ! A component of an array of a derived type.
  p%x = [1, 2, 3, 4]
  p%y = 0
  call MPI_Sendrecv(p%x, 4, MPI_INTEGER, other, 4, p%y, 4, MPI_INTEGER, other, 4, &
    MPI_COMM_WORLD, MPI_STATUS_IGNORE, e)
  CHECK(all(p%y == [1, 2, 3, 4]))
  ! Items that are longer than an element can only be served by a copy.
  call MPI_Type_contiguous(2, MPI_INTEGER, pairs, e)
  call MPI_Type_commit(pairs, e)
  w = 0
  call MPI_Irecv(w(1:11:2), 3, pairs, other, 5, MPI_COMM_WORLD, r, e)
  call MPI_Send(v(2:12:2), 3, pairs, other, 5, MPI_COMM_WORLD, e)
  call MPI_Wait(r, MPI_STATUS_IGNORE, e)
  CHECK(all(w(1:11:2) == [2, 4, 6, 8, 10, 12]) .and. all(w(2:12:2) == 0))
  ! A send that was freed goes on with its copy.
  w = 0
  call MPI_Isend(v(2:12:2), 3, pairs, other, 5, MPI_COMM_WORLD, r, e)
  call MPI_Request_free(r, e)
  CHECK(r == MPI_REQUEST_NULL)
  call MPI_Recv(w(1:11:2), 3, pairs, other, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE, e)
  CHECK(all(w(1:11:2) == [2, 4, 6, 8, 10, 12]))
  call MPI_Type_free(pairs, e)
  ! Collectives: several blocks, reductions, in place.
  line = -1
  call MPI_Allgather(v(1:5:2), 3, MPI_INTEGER, line, 3, MPI_INTEGER, MPI_COMM_WORLD, e)
  CHECK(all(line == [1, 3, 5, 1, 3, 5]))
  b = -1
  call MPI_Allgather([rank, rank + 5], 2, MPI_INTEGER, b(1:4:3, 2:5:3), 2, MPI_INTEGER, &
    MPI_COMM_WORLD, e)
  CHECK(b(1, 2) == 0 .and. b(4, 2) == 5 .and. b(1, 5) == 1 .and. b(4, 5) == 6)
  CHECK(count(b /= -1) == 4)
  d = 1
  call MPI_Allreduce(MPI_IN_PLACE, d(1:10:3), 4, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, e)
  CHECK(all(d(1:10:3) == 2) .and. d(2) == 1 .and. d(3) == 1)
  w = 0
  call MPI_Iallreduce(v(1:12:4), w(2:12:4), 3, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, r, e)
  call MPI_Wait(r, MPI_STATUS_IGNORE, e)
  CHECK(all(w(2:12:4) == [1, 5, 9]) .and. sum(w) == 15)
  b = rank
  call MPI_Bcast(b(2, 1:6:2), 3, MPI_INTEGER, 1, MPI_COMM_WORLD, e)
  CHECK(all(b(2, 1:6:2) == 1) .and. all(b(1, :) == rank))
  ! Persistent messages with sections.
  w = 0
  call MPI_Send_init(v(1:12:6), 2, MPI_INTEGER, other, 6, MPI_COMM_WORLD, rs(1), e)
  call MPI_Recv_init(w(3:12:6), 2, MPI_INTEGER, other, 6, MPI_COMM_WORLD, rs(2), e)
  do n = 1, 2
    v(1) = 50 * n
    call MPI_Startall(2, rs, e)
    call MPI_Waitall(2, rs, MPI_STATUSES_IGNORE, e)
    CHECK(w(3) == 50 * n .and. w(9) == 7)
  end do
  call MPI_Request_free(rs(1), e)
  call MPI_Request_free(rs(2), e)
  ! A section without elements.
  call MPI_Sendrecv(v(5:4), 0, MPI_INTEGER, other, 7, c(3:1), 0, MPI_INTEGER, other, 7, &
    MPI_COMM_WORLD, MPI_STATUS_IGNORE, e)
  call finish()
contains
#include "check.h"
end program sections
