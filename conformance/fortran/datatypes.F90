! ranks: 1
! MPI 5.0 chapter 5 and section 19.1.9: constructors, addresses, packing, Fortran's own types.
program datatypes
#include "face_use.h"
  implicit none
#include "face_include.h"
  integer :: rank, size, failures = 0, e, i, n, position, combiner, ni, na, nd
  integer :: a(16), b(16), blocks(2)
  integer(kind=MPI_ADDRESS_KIND) :: displs(2), lb, extent, first, second
  HANDLE(MPI_Datatype) :: t, u, types(2)
  HANDLE(MPI_Datatype) :: inside(2)
  integer :: ints(4)
  integer(kind=MPI_ADDRESS_KIND) :: addresses(2)
  double precision :: d
  character(len=64) :: packed
  character(len=MPI_MAX_OBJECT_NAME) :: name
  STATUS(s)
  call start()
  a = [(i, i = 1, 16)]
  b = 0
  call MPI_Type_vector(4, 1, 4, MPI_INTEGER, t, e)
  call MPI_Type_commit(t, e)
  call MPI_Sendrecv(a, 1, t, 0, 1, b, 4, MPI_INTEGER, 0, 1, MPI_COMM_SELF, s, e)
  CHECK(all(b(1:4) == [1, 5, 9, 13]))
  call MPI_Type_get_extent(t, lb, extent, e)
  CHECK(lb == 0 .and. extent == 52)
  call MPI_Type_size(t, n, e)
  CHECK(n == 16)
  call MPI_Type_get_envelope(t, ni, na, nd, combiner, e)
  CHECK(combiner == MPI_COMBINER_VECTOR .and. ni == 3 .and. nd == 1)
  call MPI_Type_get_contents(t, ni, na, nd, ints, addresses, inside, e)
  CHECK(all(ints(1:3) == [4, 1, 4]))
  CHECK(inside(1) == MPI_INTEGER)
  call MPI_Type_set_name(t, 'columns  ', e)
  call MPI_Type_get_name(t, name, n, e)
  CHECK(name == 'columns' .and. n == 7)
  call MPI_Type_free(t, e)
  CHECK(t == MPI_DATATYPE_NULL)
  ! Absolute addresses and MPI_BOTTOM.
  call MPI_Get_address(a(1), first, e)
  call MPI_Get_address(d, second, e)
#if !(defined(ON_MPICH) && defined(FACE_MPIF))
  ! MPICH 4.0 does not declare these functions in mpif.h (MPI 5.0 section 5.1.5 has them there).
  CHECK(MPI_Aint_diff(MPI_Aint_add(first, second - first), second) == 0)
#endif
  blocks = [2, 1]
  displs = [first, second]
  types(1) = MPI_INTEGER
  types(2) = MPI_DOUBLE_PRECISION
  call MPI_Type_create_struct(2, blocks, displs, types, t, e)
  call MPI_Type_commit(t, e)
  d = 2.5d0
  SYNC(a)
  SYNC(d)
#ifndef ON_MPICH
  ! MPICH 4.0 takes MPI_BOTTOM for a null pointer here; section 5.2 allows what MPI_Send allows.
  position = 0
  call MPI_Pack(MPI_BOTTOM, 1, t, packed, 64, position, MPI_COMM_SELF, e)
  CHECK(position == 16)
  a(1:2) = 0
  d = 0
  position = 0
  call MPI_Unpack(packed, 64, position, MPI_BOTTOM, 1, t, MPI_COMM_SELF, e)
  SYNC(a)
  SYNC(d)
  CHECK(all(a(1:2) == [1, 2]) .and. d == 2.5d0)
#endif
  call MPI_Type_free(t, e)
  call MPI_Type_create_subarray(2, [4, 4], [2, 2], [1, 1], MPI_ORDER_FORTRAN, MPI_INTEGER, t, e)
  call MPI_Type_commit(t, e)
  b = 0
  call MPI_Sendrecv(a, 1, t, 0, 2, b, 4, MPI_INTEGER, 0, 2, MPI_COMM_SELF, s, e)
  CHECK(all(b(1:4) == [6, 7, 10, 11]))
  call MPI_Type_create_resized(MPI_INTEGER, 0_MPI_ADDRESS_KIND, 16_MPI_ADDRESS_KIND, u, e)
  call MPI_Type_get_extent(u, lb, extent, e)
  CHECK(extent == 16)
  call MPI_Type_free(u, e)
  call MPI_Type_free(t, e)
  ! Fortran's own types.
  call MPI_Type_create_f90_real(15, MPI_UNDEFINED, t, e)
  call MPI_Type_size(t, n, e)
  CHECK(n == 8)
  call MPI_Type_create_f90_integer(18, t, e)
  call MPI_Type_size(t, n, e)
  CHECK(n == 8)
  call MPI_Type_create_f90_complex(6, 30, t, e)
  call MPI_Type_size(t, n, e)
  CHECK(n == 8)
  call MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, t, e)
  call MPI_Type_size(t, n, e)
  CHECK(n == 8)
  call sizes()
  call finish()
contains
  subroutine sizes()
    HANDLE(MPI_Datatype) :: named(12)
    integer :: want(12), k
    named = [MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8, MPI_REAL4, MPI_REAL8, &
      MPI_COMPLEX8, MPI_COMPLEX16, MPI_CHARACTER, MPI_LOGICAL, MPI_2INTEGER, MPI_2DOUBLE_PRECISION]
    want = [1, 2, 4, 8, 4, 8, 8, 16, 1, 4, 8, 16]
    do k = 1, 12
      call MPI_Type_size(named(k), n, e)
      CHECK(n == want(k))
    end do
#ifndef FACE_MPIF
    call MPI_Sizeof(d, n, e)
    CHECK(n == 8)
    call MPI_Sizeof(a, n, e)
    CHECK(n == 4)
#endif
  end subroutine sizes
#include "check.h"
end program datatypes
