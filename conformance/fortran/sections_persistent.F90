! ranks: 2
! faces: f08 mpi
! skip-mpich: sections in persistent operations are refused or wrong there
! MPI 5.0 sections 19.1.12, 6.13 and 4.2: a section with gaps belongs to a persistent request until
! that is freed; each start reads it anew, and each completion has written it.
program sections_persistent
#include "face_use.h"
  implicit none
  integer :: rank, size, failures = 0, e, i, n, other, place, many, places(2)
  integer, asynchronous :: v(12), w(12), b(6, 6)
  logical :: flag
  double precision, asynchronous :: d(10)
  HANDLE(MPI_Request) :: r, rs(2)
  HANDLE(MPI_Datatype) :: pairs
  call start()
  other = 1 - rank
  ! A reduction, completed in each of the ways there are.
  w = -1
  call MPI_Allreduce_init(v(1:12:4), w(2:12:4), 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, &
    MPI_INFO_NULL, r, e)
  CHECK(e == MPI_SUCCESS)
  do n = 1, 6
    v = [(i + 100 * n * rank, i = 1, 12)]
    call MPI_Start(r, e)
    rs = [r, MPI_REQUEST_NULL]
    flag = .false.
    select case (n)
    case (1)
      call MPI_Wait(r, MPI_STATUS_IGNORE, e)
    case (2)
      do while (.not. flag)
        call MPI_Test(r, flag, MPI_STATUS_IGNORE, e)
      end do
    case (3)
      call MPI_Waitall(2, rs, MPI_STATUSES_IGNORE, e)
    case (4)
      call MPI_Waitany(2, rs, place, MPI_STATUS_IGNORE, e)
      CHECK(place == 1)
    case (5)
      call MPI_Waitsome(2, rs, many, places, MPI_STATUSES_IGNORE, e)
      CHECK(many == 1 .and. places(1) == 1)
    case (6)
      do while (.not. flag)
        call MPI_Request_get_status(r, flag, MPI_STATUS_IGNORE, e)
      end do
    end select
    CHECK(all(w(2:12:4) == [2, 10, 18] + 100 * n) .and. count(w /= -1) == 3)
    call MPI_Wait(r, MPI_STATUS_IGNORE, e)
    ! Between two starts the section is the program's own.
    w(2) = 7
    call MPI_Wait(r, MPI_STATUS_IGNORE, e)
    call MPI_Barrier(MPI_COMM_WORLD, e)
    CHECK(w(2) == 7)
  end do
  call MPI_Request_free(r, e)
  CHECK(r == MPI_REQUEST_NULL .and. w(2) == 7)
  ! In place, and started together with a broadcast.
  d = 1
  call MPI_Allreduce_init(MPI_IN_PLACE, d(1:10:3), 4, MPI_DOUBLE_PRECISION, MPI_SUM, &
    MPI_COMM_WORLD, MPI_INFO_NULL, rs(1), e)
  call MPI_Bcast_init(b(2, 1:6:2), 3, MPI_INTEGER, 1, MPI_COMM_WORLD, MPI_INFO_NULL, rs(2), e)
  do n = 1, 3
    b = rank * n
    call MPI_Startall(2, rs, e)
    call MPI_Waitall(2, rs, MPI_STATUSES_IGNORE, e)
    CHECK(all(d(1:10:3) == 2d0**n) .and. d(2) == 1 .and. all(b(2, 1:6:2) == n))
    CHECK(all(b(1, :) == rank * n))
  end do
  call MPI_Request_free(rs(1), e)
  call MPI_Request_free(rs(2), e)
  ! Messages whose items are longer than an element.
  call MPI_Type_contiguous(2, MPI_INTEGER, pairs, e)
  call MPI_Type_commit(pairs, e)
  call MPI_Send_init(v(2:12:2), 3, pairs, other, 5, MPI_COMM_WORLD, rs(1), e)
  call MPI_Recv_init(w(1:11:2), 3, pairs, other, 5, MPI_COMM_WORLD, rs(2), e)
  do n = 1, 2
    v = [(i * n, i = 1, 12)]
    w = 0
    call MPI_Startall(2, rs, e)
    call MPI_Waitall(2, rs, MPI_STATUSES_IGNORE, e)
    CHECK(all(w(1:11:2) == [(2 * i * n, i = 1, 6)]) .and. all(w(2:12:2) == 0))
  end do
  call MPI_Request_free(rs(1), e)
  call MPI_Request_free(rs(2), e)
  ! Partitions are read when they are ready, and written when they have arrived.
  v = 0
  if (rank == 0) then
    call MPI_Psend_init(v(1:12:2), 3, 1_MPI_COUNT_KIND, pairs, 1, 6, MPI_COMM_WORLD, &
      MPI_INFO_NULL, r, e)
  else
    call MPI_Precv_init(v(2:12:2), 3, 1_MPI_COUNT_KIND, pairs, 0, 6, MPI_COMM_WORLD, &
      MPI_INFO_NULL, r, e)
  end if
  CHECK(e == MPI_SUCCESS)
  do n = 1, 2
    call MPI_Start(r, e)
    if (rank == 0) then
      v(5:7:2) = [3, 4] * n
      call MPI_Pready(1, r, e)
      v(1:3:2) = [1, 2] * n
      call MPI_Pready_range(0, 0, r, e)
      v(9:11:2) = [5, 6] * n
      call MPI_Pready_list(1, [2], r, e)
    else
      flag = .false.
      do while (.not. flag)
        call MPI_Parrived(r, 1, flag, e)
      end do
      CHECK(all(v(6:8:2) == [3, 4] * n))
      ! What has arrived is the program's.
      v(6) = -5
    end if
    call MPI_Wait(r, MPI_STATUS_IGNORE, e)
    if (rank == 1) CHECK(all(v == [0, n, 0, 2 * n, 0, -5, 0, 4 * n, 0, 5 * n, 0, 6 * n]))
  end do
  call MPI_Request_free(r, e)
  call finish()
contains
#include "check.h"
end program sections_persistent
