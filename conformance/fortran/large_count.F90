! ranks: 2
! faces: f08
! skip-mpich: its release 4.0 lacks some of the large forms
! MPI 5.0 section 19.2: counts of kind MPI_COUNT_KIND under the same names.
program large_count
#include "face_use.h"
  implicit none
  integer :: rank, size, failures = 0, i, e
  integer(kind=MPI_COUNT_KIND) :: n, low, extent, counts(2), size_c
  integer(kind=MPI_ADDRESS_KIND) :: displs(2)
  integer :: a(4), b(4)
  type(MPI_Status) :: s
  type(MPI_Datatype) :: t
  type(MPI_Request) :: r
  call start()
  a = [(rank * 10 + i, i = 1, 4)]
  b = 0
  call MPI_Irecv(b, 4_MPI_COUNT_KIND, MPI_INTEGER, 1 - rank, 1, MPI_COMM_WORLD, r)
  call MPI_Send(a, 4_MPI_COUNT_KIND, MPI_INTEGER, 1 - rank, 1, MPI_COMM_WORLD)
  call MPI_Wait(r, s)
  call MPI_Get_count(s, MPI_INTEGER, n)
  CHECK(n == 4 .and. b(4) == (1 - rank) * 10 + 4)
  counts = [1, 2]
  displs = [2, 0]
  b = 0
  call MPI_Allgatherv(a, counts(rank + 1), MPI_INTEGER, b, counts, displs, MPI_INTEGER, &
    MPI_COMM_WORLD)
  CHECK(all(b(1:3) == [11, 12, 1]))
  call MPI_Type_contiguous(3000000000_MPI_COUNT_KIND, MPI_BYTE, t)
  call MPI_Type_size(t, size_c)
  CHECK(size_c == 3000000000_MPI_COUNT_KIND)
  call MPI_Type_get_extent(t, low, extent)
  CHECK(extent == 3000000000_MPI_COUNT_KIND)
  call MPI_Type_size(t, i)
  CHECK(i == MPI_UNDEFINED)
  call MPI_Type_free(t)
  e = 0
  call finish()
contains
#include "check.h"
end program large_count
