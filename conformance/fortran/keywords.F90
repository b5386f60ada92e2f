! ranks: 2
! faces: f08 mpi
! skip-mpich: module mpi of 4.0 has no interfaces of these, and its mpi_f08 names index otherwise
! MPI 5.0 section 19.1: arguments by the standard's names; ierror may be left out in mpi_f08; PMPI.
program keywords
#include "face_use.h"
  implicit none
  integer :: rank, size, failures = 0, e, x, y, p
  HANDLE(MPI_Request) :: r(2)
  call start()
  x = rank
  call MPI_Isend(buf=x, count=1, datatype=MPI_INTEGER, dest=1 - rank, tag=3, &
    comm=MPI_COMM_WORLD, request=r(1), ierror=e)
  call MPI_Irecv(buf=y, count=1, datatype=MPI_INTEGER, source=1 - rank, tag=3, &
    comm=MPI_COMM_WORLD, request=r(2), ierror=e)
  call MPI_Waitany(count=2, array_of_requests=r, index=p, status=MPI_STATUS_IGNORE, ierror=e)
  call MPI_Waitall(count=2, array_of_requests=r, array_of_statuses=MPI_STATUSES_IGNORE, ierror=e)
  CHECK(y == 1 - rank .and. (p == 1 .or. p == 2))
  call PMPI_Allreduce(sendbuf=x, recvbuf=y, count=1, datatype=MPI_INTEGER, op=MPI_SUM, &
    comm=MPI_COMM_WORLD, ierror=e)
  CHECK(y == 1 .and. PMPI_Wtime() > 0)
#ifdef FACE_F08
  call PMPI_Comm_rank(MPI_COMM_WORLD, y)
  CHECK(y == rank)
#endif
  call finish()
contains
#include "check.h"
end program keywords
