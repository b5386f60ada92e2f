! The Fortran half of a program in two languages; see mixed_c.c.
#ifdef FORTRAN_FIRST
program mixed
  use mpi
  implicit none
  integer :: comm, kind, keyval, good, rank, e
  call MPI_Init(e)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, e)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, e)
  call MPI_Type_contiguous(3, MPI_INTEGER, kind, e)
  call MPI_Type_commit(kind, e)
  call fortran_part(comm, kind, keyval, good)
  if (rank == 0 .and. good /= 0) print '(a)', 'correct'
  call MPI_Finalize(e)
end program mixed
#endif

subroutine fortran_part(comm, kind, keyval, good)
  use mpi
  implicit none
  integer :: comm, kind, keyval, good, e, rank, status(MPI_STATUS_SIZE), a(3), b(3)
  integer(kind=MPI_ADDRESS_KIND) :: value
  logical :: flag
  external :: c_part
  call MPI_Comm_rank(comm, rank, e)
  a = rank
  call MPI_Sendrecv(a, 1, kind, 1 - rank, 17, b, 3, MPI_INTEGER, 1 - rank, 17, comm, status, e)
  call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, keyval, &
    0_MPI_ADDRESS_KIND, e)
  call MPI_Comm_set_attr(comm, keyval, 1234567890123_MPI_ADDRESS_KIND, e)
  call c_part(comm, keyval, status, good)
  call MPI_Comm_get_attr(comm, keyval, value, flag, e)
  if (.not. flag .or. any(b /= 1 - rank)) good = 0
  ! The address of C's variable, whose value is 99.
  if (value == 1234567890123_MPI_ADDRESS_KIND .or. value == 0) good = 0
  call MPI_Comm_delete_attr(comm, keyval, e)
  call MPI_Comm_free_keyval(keyval, e)
end subroutine fortran_part
