! ranks: 2
! faces: f08 mpi
! MPI 5.0 chapter 4: partitioned messages, whose counts are of kind MPI_COUNT_KIND.
program partitioned
#include "face_use.h"
  implicit none
  integer :: rank, size, failures = 0, e, i, a(8)
  logical :: flag
  HANDLE(MPI_Request) :: r
  call start()
  a = merge(0, 7, rank == 1)
  if (rank == 0) then
    call MPI_Psend_init(a, 4, 2_MPI_COUNT_KIND, MPI_INTEGER, 1, 5, MPI_COMM_WORLD, &
      MPI_INFO_NULL, r, e)
    call MPI_Start(r, e)
    do i = 0, 3
      call MPI_Pready(i, r, e)
    end do
  else
    call MPI_Precv_init(a, 4, 2_MPI_COUNT_KIND, MPI_INTEGER, 0, 5, MPI_COMM_WORLD, &
      MPI_INFO_NULL, r, e)
    call MPI_Start(r, e)
    flag = .false.
    do while (.not. flag)
#if defined(ON_MPICH) && defined(FACE_MPI)
      exit ! Module mpi of MPICH 4.0 declares flag as INTEGER; section 4.2.4 has LOGICAL.
#else
      call MPI_Parrived(r, 3, flag, e)
#endif
    end do
  end if
  call MPI_Wait(r, MPI_STATUS_IGNORE, e)
  CHECK(all(a == 7))
  call MPI_Request_free(r, e)
  call finish()
contains
#include "check.h"
end program partitioned
