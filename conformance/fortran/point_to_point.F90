! ranks: 2
! MPI 5.0 chapter 3: every way to send and to receive, statuses, wildcards, places counted from 1.
program point_to_point
#include "face_use.h"
#ifdef FACE_F08
  use, intrinsic :: iso_c_binding
#endif
  implicit none
#include "face_include.h"
  integer :: rank, size, failures = 0, e, i, n, other, place, done
  integer :: a(8), b(8), places(4)
  double precision :: d(4)
  logical :: flag
  HANDLE(MPI_Request) :: r, rs(4)
  HANDLE(MPI_Message) :: m
  STATUS(s)
  STATUSES(ss, 4)
#ifdef FACE_F08
  type(c_ptr) :: old
  integer(kind=MPI_ADDRESS_KIND) :: room_at = 0
#endif
  character, target :: room(4096)
  call start()
  other = 1 - rank
  a = [(10 * rank + i, i = 1, 8)]
  b = -1
  call MPI_Sendrecv(a, 8, MPI_INTEGER, other, 5, b, 8, MPI_INTEGER, other, 5, MPI_COMM_WORLD, s, e)
  CHECK(e == MPI_SUCCESS)
  CHECK(all(b == [(10 * other + i, i = 1, 8)]))
  CHECK(FIELD(s, MPI_SOURCE) == other)
  CHECK(FIELD(s, MPI_TAG) == 5)
  call MPI_Get_count(s, MPI_INTEGER, n, e)
  CHECK(n == 8)
  if (rank == 0) then
    call MPI_Send(a, 3, MPI_INTEGER, 1, 1, MPI_COMM_WORLD, e)
    call MPI_Ssend(a, 3, MPI_INTEGER, 1, 2, MPI_COMM_WORLD, e)
    call MPI_Buffer_attach(room, 4096, e)
    call MPI_Bsend(a, 3, MPI_INTEGER, 1, 3, MPI_COMM_WORLD, e)
#ifdef FACE_F08
    call MPI_Buffer_detach(old, n, e)
    ! gfortran 12 compiles c_associated of such a pair wrongly.
    CHECK(transfer(old, room_at) == transfer(c_loc(room), room_at))
#else
    call MPI_Buffer_detach(room, n, e)
#endif
    CHECK(n == 4096)
    d = [1d0, 2d0, 3d0, 4d0]
    call MPI_Send(d, 4, MPI_DOUBLE_PRECISION, 1, 4, MPI_COMM_WORLD, e)
  else
    do i = 1, 3
      b = 0
      call MPI_Probe(MPI_ANY_SOURCE, i, MPI_COMM_WORLD, s, e)
      call MPI_Get_count(s, MPI_INTEGER, n, e)
      CHECK(n == 3)
      call MPI_Recv(b, 8, MPI_INTEGER, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE, e)
      CHECK(all(b(1:3) == [1, 2, 3]) .and. b(4) == 0)
    end do
    call MPI_Mprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, m, s, e)
    CHECK(FIELD(s, MPI_TAG) == 4)
    call MPI_Mrecv(d, 4, MPI_DOUBLE_PRECISION, m, s, e)
    CHECK(all(d == [1d0, 2d0, 3d0, 4d0]))
    CHECK(m == MPI_MESSAGE_NULL)
  end if
  ! Places in arrays are counted from 1.
  call MPI_Irecv(b(1), 1, MPI_INTEGER, other, 11, MPI_COMM_WORLD, rs(1), e)
  call MPI_Irecv(b(2), 1, MPI_INTEGER, other, 12, MPI_COMM_WORLD, rs(2), e)
  rs(3) = MPI_REQUEST_NULL
  call MPI_Isend(a(2), 1, MPI_INTEGER, other, 12, MPI_COMM_WORLD, r, e)
  call MPI_Waitany(3, rs, place, s, e)
  CHECK(PLACE(place) == 2)
  CHECK(FIELD(s, MPI_TAG) == 12)
  CHECK(rs(2) == MPI_REQUEST_NULL)
  call MPI_Wait(r, MPI_STATUS_IGNORE, e)
  CHECK(r == MPI_REQUEST_NULL)
  call MPI_Isend(a(1), 1, MPI_INTEGER, other, 11, MPI_COMM_WORLD, rs(4), e)
  n = 0
  do while (n < 2)
    call MPI_Waitsome(4, rs, done, places, ss, e)
    CHECK(all(PLACE(places(1:done)) == 1 .or. PLACE(places(1:done)) == 4))
    n = n + done
  end do
  call MPI_Waitsome(4, rs, done, places, MPI_STATUSES_IGNORE, e)
  CHECK(done == MPI_UNDEFINED)
  call MPI_Testany(4, rs, place, flag, s, e)
#if defined(ON_MPICH) && !defined(FACE_F08)
  place = place - 1 ! MPICH 4.0 adds one to MPI_UNDEFINED, too.
#endif
  CHECK(flag .and. place == MPI_UNDEFINED)
  ! Persistent requests.
  call MPI_Send_init(a, 2, MPI_INTEGER, other, 20, MPI_COMM_WORLD, rs(1), e)
  call MPI_Recv_init(b, 2, MPI_INTEGER, other, 20, MPI_COMM_WORLD, rs(2), e)
  do i = 1, 2
    a(1) = 100 * i + rank
    SYNC(a)
    call MPI_Startall(2, rs, e)
    call MPI_Waitall(2, rs, ss, e)
    SYNC(b)
    CHECK(b(1) == 100 * i + other)
    CHECK(FIELDS(ss, 2, MPI_SOURCE) == other)
  end do
  call MPI_Request_free(rs(1), e)
  call MPI_Request_free(rs(2), e)
  CHECK(rs(1) == MPI_REQUEST_NULL)
  call MPI_Sendrecv_replace(a, 2, MPI_INTEGER, other, 21, other, 21, MPI_COMM_WORLD, s, e)
  CHECK(a(1) == 200 + other)
  call MPI_Recv(b, 8, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, s, e)
  CHECK(FIELD(s, MPI_SOURCE) == MPI_PROC_NULL)
  call MPI_Iprobe(other, 99, MPI_COMM_WORLD, flag, s, e)
  CHECK(.not. flag)
  call MPI_Irecv(b, 1, MPI_INTEGER, other, 98, MPI_COMM_WORLD, r, e)
  call MPI_Cancel(r, e)
  call MPI_Wait(r, s, e)
  call MPI_Test_cancelled(s, flag, e)
  CHECK(flag)
  call finish()
contains
#include "check.h"
end program point_to_point
