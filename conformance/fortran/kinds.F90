! ranks: 2
! skip-mpich: some of the optional kinds are missing there
! MPI 5.0 sections 3.2.2, 6.9.2 and 5.3: all kinds of numbers and truth values, their
! reductions, and their external form.
program kinds
#include "face_use.h"
  implicit none
#include "face_include.h"
  integer :: rank, size, failures = 0, e
  integer(1) :: i1(2)
  integer(2) :: i2(2)
  integer(8) :: i8(2)
  integer(16) :: i16(2)
  real(16) :: r16(2)
  complex(4) :: c8(2)
  complex(8) :: c16(2)
  complex(16) :: c32(2)
  logical(1) :: l1(2)
  logical(2) :: l2(2)
  logical(8) :: l8(2)
  logical :: l(2)
  double precision :: pair(2, 2)
  integer(MPI_ADDRESS_KIND) :: place, bytes
  character(len=64) :: packed
  HANDLE(MPI_Request) :: r
  HANDLE(MPI_Comm) :: comm
  call start()
  i1 = int(rank + 1, 1)
  call MPI_Allreduce(MPI_IN_PLACE, i1, 2, MPI_INTEGER1, MPI_SUM, MPI_COMM_WORLD, e)
  CHECK(all(i1 == 3))
  i2 = int(1000 * (rank + 1), 2)
  call MPI_Allreduce(MPI_IN_PLACE, i2, 2, MPI_INTEGER2, MPI_MAX, MPI_COMM_WORLD, e)
  CHECK(all(i2 == 2000))
  i8 = 5000000000_8 * (rank + 1)
  call MPI_Allreduce(MPI_IN_PLACE, i8, 2, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD, e)
  CHECK(all(i8 == 15000000000_8))
  i16 = 2_16**90 * (rank + 1)
  call MPI_Allreduce(MPI_IN_PLACE, i16, 2, MPI_INTEGER16, MPI_SUM, MPI_COMM_WORLD, e)
  CHECK(all(i16 == 3 * 2_16**90))
  r16 = 1 + 2.0_16**(-100) * (rank + 1)
  call MPI_Allreduce(MPI_IN_PLACE, r16, 2, MPI_REAL16, MPI_MAX, MPI_COMM_WORLD, e)
  CHECK(all(r16 == 1 + 2.0_16**(-99)))
  call MPI_Allreduce(MPI_IN_PLACE, r16, 2, MPI_REAL16, MPI_SUM, MPI_COMM_WORLD, e)
  CHECK(all(r16 == 2 + 2.0_16**(-98)))
  c8 = (1.0, 2.0)
  call MPI_Allreduce(MPI_IN_PLACE, c8, 2, MPI_COMPLEX, MPI_PROD, MPI_COMM_WORLD, e)
  CHECK(all(c8 == (-3.0, 4.0)))
  c16 = (1d0, 2d0)
  call MPI_Allreduce(MPI_IN_PLACE, c16, 2, MPI_DOUBLE_COMPLEX, MPI_PROD, MPI_COMM_WORLD, e)
  CHECK(all(c16 == (-3d0, 4d0)))
  c32 = (1.0_16, 2.0_16)
  call MPI_Allreduce(MPI_IN_PLACE, c32, 2, MPI_COMPLEX32, MPI_SUM, MPI_COMM_WORLD, e)
  CHECK(all(c32 == (2.0_16, 4.0_16)))
  l = [.true., rank == 0]
  call MPI_Allreduce(MPI_IN_PLACE, l, 2, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, e)
  CHECK(l(1) .and. .not. l(2))
  l1 = [.false., rank == 0]
  call MPI_Allreduce(MPI_IN_PLACE, l1, 2, MPI_LOGICAL1, MPI_LOR, MPI_COMM_WORLD, e)
  CHECK(logical(l1(2) .and. .not. l1(1)))
  l2 = [.true., rank == 0]
  call MPI_Allreduce(MPI_IN_PLACE, l2, 2, MPI_LOGICAL2, MPI_LXOR, MPI_COMM_WORLD, e)
  CHECK(logical(l2(2) .and. .not. l2(1)))
  l8 = [.true., rank == 0]
  call MPI_Allreduce(MPI_IN_PLACE, l8, 2, MPI_LOGICAL8, MPI_LAND, MPI_COMM_WORLD, e)
  CHECK(logical(l8(1) .and. .not. l8(2)))
  pair(1, :) = [rank + 1d0, -rank - 1d0]
  pair(2, :) = rank
  call MPI_Allreduce(MPI_IN_PLACE, pair, 2, MPI_2DOUBLE_PRECISION, MPI_MAXLOC, MPI_COMM_WORLD, e)
  CHECK(all(pair(:, 1) == [2d0, 1d0]) .and. all(pair(:, 2) == [-1d0, 0d0]))
  ! The external form is big-endian.
  place = 0
  bytes = 64
  call MPI_Pack_external('external32', [258], 1, MPI_INTEGER, packed, bytes, place, e)
  CHECK(place == 4 .and. packed(3:3) == char(1) .and. packed(4:4) == char(2))
  call MPI_Pack_external_size('external32', 2, MPI_REAL16, bytes, e)
  CHECK(bytes == 32)
  ! Later forms of messages, and a communicator made meanwhile.
  i1 = int(rank, 1)
  call MPI_Isendrecv_replace(i1, 2, MPI_INTEGER1, 1 - rank, 0, 1 - rank, 0, MPI_COMM_WORLD, r, e)
  call MPI_Wait(r, MPI_STATUS_IGNORE, e)
  SYNC(i1)
  CHECK(all(i1 == 1 - rank))
  call MPI_Comm_idup(MPI_COMM_WORLD, comm, r, e)
  call MPI_Wait(r, MPI_STATUS_IGNORE, e)
  SYNC(comm)
  call MPI_Comm_free(comm, e)
  CHECK(comm == MPI_COMM_NULL)
  call finish()
contains
#include "check.h"
end program kinds
