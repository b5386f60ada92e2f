! ranks: 1
! MPI 5.0 section 7.7: keys with Fortran procedures, the predefined ones, and predefined attributes.
module procedures
#include "face_use.h"
  implicit none
#include "face_include.h"
  integer :: copies = 0, deletes = 0
contains
  subroutine copy(oldcomm, comm_keyval, extra_state, attribute_val_in, attribute_val_out, flag, &
      ierror)
    HANDLE(MPI_Comm) :: oldcomm
    integer :: comm_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    copies = copies + 1
    attribute_val_out = attribute_val_in + extra_state
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine copy

  subroutine delete(comm, comm_keyval, attribute_val, extra_state, ierror)
    HANDLE(MPI_Comm) :: comm
    integer :: comm_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state
    deletes = deletes + 1
    ierror = MPI_SUCCESS
    if (extra_state /= 1000) ierror = MPI_ERR_OTHER
  end subroutine delete

  subroutine copy_type(oldtype, type_keyval, extra_state, attribute_val_in, attribute_val_out, &
      flag, ierror)
    HANDLE(MPI_Datatype) :: oldtype
    integer :: type_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    copies = copies + 1
    attribute_val_out = attribute_val_in
    flag = attribute_val_in > 0
    ierror = MPI_SUCCESS
  end subroutine copy_type

  subroutine old_copy(oldcomm, keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierr)
    HANDLE(MPI_Comm) :: oldcomm
    integer :: keyval, extra_state, attribute_val_in, attribute_val_out, ierr
    logical :: flag
    attribute_val_out = attribute_val_in * extra_state
    flag = .true.
    ierr = MPI_SUCCESS
  end subroutine old_copy
end module procedures

program attributes
  use procedures
  implicit none
  integer :: rank, size, failures = 0, e, key, n
  integer(kind=MPI_ADDRESS_KIND) :: value
  logical :: flag
  HANDLE(MPI_Comm) :: c
  HANDLE(MPI_Datatype) :: t, u
  call start()
  call MPI_Comm_create_keyval(copy, delete, key, 1000_MPI_ADDRESS_KIND, e)
  call MPI_Comm_get_attr(MPI_COMM_SELF, key, value, flag, e)
  CHECK(.not. flag)
  call MPI_Comm_set_attr(MPI_COMM_SELF, key, 5000000000_MPI_ADDRESS_KIND, e)
  call MPI_Comm_get_attr(MPI_COMM_SELF, key, value, flag, e)
  CHECK(flag .and. value == 5000000000_MPI_ADDRESS_KIND)
  call MPI_Comm_dup(MPI_COMM_SELF, c, e)
  CHECK(copies == 1)
  call MPI_Comm_get_attr(c, key, value, flag, e)
  CHECK(flag .and. value == 5000001000_MPI_ADDRESS_KIND)
  call MPI_Comm_free(c, e)
  CHECK(deletes == 1)
  call MPI_Comm_delete_attr(MPI_COMM_SELF, key, e)
  CHECK(e == MPI_SUCCESS .and. deletes == 2)
  call MPI_Comm_free_keyval(key, e)
  CHECK(key == MPI_KEYVAL_INVALID)
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, &
    0_MPI_ADDRESS_KIND, e)
  call MPI_Comm_set_attr(MPI_COMM_SELF, key, -7_MPI_ADDRESS_KIND, e)
  call MPI_Comm_dup(MPI_COMM_SELF, c, e)
  call MPI_Comm_get_attr(c, key, value, flag, e)
  CHECK(flag .and. value == -7)
  call MPI_Comm_free(c, e)
  call MPI_Comm_delete_attr(MPI_COMM_SELF, key, e)
  call MPI_Comm_free_keyval(key, e)
  call MPI_Type_create_keyval(copy_type, MPI_TYPE_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND, e)
  call MPI_Type_contiguous(2, MPI_INTEGER, t, e)
  call MPI_Type_set_attr(t, key, 3_MPI_ADDRESS_KIND, e)
  call MPI_Type_dup(t, u, e)
  call MPI_Type_get_attr(u, key, value, flag, e)
  CHECK(flag .and. value == 3)
  call MPI_Type_free(u, e)
  call MPI_Type_free(t, e)
  call MPI_Type_free_keyval(key, e)
#ifndef FACE_F08
  call MPI_Keyval_create(old_copy, MPI_NULL_DELETE_FN, key, 3, e)
  call MPI_Attr_put(MPI_COMM_SELF, key, 14, e)
  call MPI_Comm_dup(MPI_COMM_SELF, c, e)
  call MPI_Attr_get(c, key, n, flag, e)
  CHECK(flag .and. n == 42)
  call MPI_Comm_free(c, e)
  call MPI_Attr_delete(MPI_COMM_SELF, key, e)
  call MPI_Keyval_free(key, e)
  call MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, n, flag, e)
  CHECK(flag .and. n >= 32767)
#endif
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, e)
  CHECK(flag .and. value >= 32767)
  call finish()
contains
#include "check.h"
end program attributes
