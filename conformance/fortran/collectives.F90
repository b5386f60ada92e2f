! ranks: 3
! MPI 5.0 chapter 6: the collectives, blocking, nonblocking and persistent, with MPI_IN_PLACE.
program collectives
#include "face_use.h"
  implicit none
#include "face_include.h"
  integer :: rank, size, failures = 0, e, i
  integer :: a(12), b(12), c(12), counts(3), displs(3), zero(3)
  HANDLE(MPI_Request) :: r
  HANDLE(MPI_Datatype) :: types(3)
  double precision :: x(2), y(2)
  integer :: pair(2), best(2)
  real :: rpair(2), rbest(2)
  logical :: l, every
  call start()
  a = 0
  if (rank == 1) a(1:4) = [1, 2, 3, 4]
  call MPI_Bcast(a, 4, MPI_INTEGER, 1, MPI_COMM_WORLD, e)
  CHECK(all(a(1:4) == [1, 2, 3, 4]))
  a(1:2) = [rank, rank + 10]
  b = -1
  call MPI_Gather(a, 2, MPI_INTEGER, b, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, e)
  if (rank == 0) then
    CHECK(all(b(1:6) == [0, 10, 1, 11, 2, 12]))
  end if
  counts = [1, 2, 1]
  displs = [4, 1, 0]
  b = -1
  call MPI_Allgatherv(a, counts(rank + 1), MPI_INTEGER, b, counts, displs, MPI_INTEGER, &
    MPI_COMM_WORLD, e)
  CHECK(all(b(1:5) == [2, 1, 11, -1, 0]))
  c = [(i + 100 * rank, i = 1, 12)]
  call MPI_Scatter(c, 4, MPI_INTEGER, b, 4, MPI_INTEGER, 2, MPI_COMM_WORLD, e)
  CHECK(all(b(1:4) == [(200 + 4 * rank + i, i = 1, 4)]))
  call MPI_Alltoall(c, 4, MPI_INTEGER, b, 4, MPI_INTEGER, MPI_COMM_WORLD, e)
  CHECK(b(5) == 100 + 4 * rank + 1)
  counts = 2
  displs = [0, 2, 4]
  call MPI_Alltoallv(c, counts, displs, MPI_INTEGER, b, counts, displs, MPI_INTEGER, &
    MPI_COMM_WORLD, e)
  CHECK(b(3) == 100 + 2 * rank + 1)
  types = MPI_INTEGER
  displs = [0, 8, 16]
  b = -1
  call MPI_Alltoallw(c, counts, displs, types, b, counts, displs, types, MPI_COMM_WORLD, e)
  CHECK(b(6) == 200 + 2 * rank + 2)
  b = -1
  call MPI_Ialltoallw(c, counts, displs, types, b, counts, displs, types, MPI_COMM_WORLD, r, e)
  call MPI_Wait(r, MPI_STATUS_IGNORE, e)
  CHECK(b(6) == 200 + 2 * rank + 2)
  a(1:2) = [rank, 2]
  call MPI_Allreduce(MPI_IN_PLACE, a, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, e)
  CHECK(all(a(1:2) == [3, 6]))
  x = [1d0 + rank, 2d0]
  call MPI_Reduce(x, y, 2, MPI_DOUBLE_PRECISION, MPI_PROD, 0, MPI_COMM_WORLD, e)
  if (rank == 0) then
    CHECK(all(y == [6d0, 8d0]))
  end if
  l = rank /= 1
  call MPI_Allreduce(l, every, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, e)
  CHECK(.not. every)
  call MPI_Allreduce(l, every, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, e)
  CHECK(every)
  pair = [10 - rank, rank]
  call MPI_Allreduce(pair, best, 1, MPI_2INTEGER, MPI_MINLOC, MPI_COMM_WORLD, e)
  CHECK(all(best == [8, 2]))
  rpair = [real(rank), real(rank) + 0.5]
  call MPI_Allreduce(rpair, rbest, 1, MPI_2REAL, MPI_MAXLOC, MPI_COMM_WORLD, e)
  CHECK(all(rbest == [2.0, 2.5]))
  call MPI_Scan(rank + 1, i, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, e)
  CHECK(i == (rank + 1) * (rank + 2) / 2)
  i = 0
  call MPI_Exscan(rank + 1, i, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, e)
  CHECK(rank == 0 .or. i == rank * (rank + 1) / 2)
  c(1:3) = [1, 2, 3]
  call MPI_Reduce_scatter_block(c, i, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, e)
  CHECK(i == 3 * (rank + 1))
  zero = 1
  call MPI_Reduce_scatter(c, i, zero, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, e)
  CHECK(i == rank + 1)
  b = -1
  call MPI_Iallgather(rank, 1, MPI_INTEGER, b, 1, MPI_INTEGER, MPI_COMM_WORLD, r, e)
  call MPI_Wait(r, MPI_STATUS_IGNORE, e)
  CHECK(all(b(1:3) == [0, 1, 2]))
  call MPI_Ibarrier(MPI_COMM_WORLD, r, e)
  call MPI_Wait(r, MPI_STATUS_IGNORE, e)
  call MPI_Barrier(MPI_COMM_WORLD, e)
  CHECK(e == MPI_SUCCESS)
  call finish()
contains
#include "check.h"
end program collectives
