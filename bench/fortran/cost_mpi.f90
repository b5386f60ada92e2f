! The loops with module mpi.
subroutine send_mpi(x, calls)
  use mpi
  implicit none
  double precision :: x
  integer :: calls, i, ierr
  do i = 1, calls
    call MPI_Send(x, 1, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 0, MPI_COMM_WORLD, ierr)
  end do
end subroutine send_mpi

subroutine pingpong_mpi(x, calls, rank)
  use mpi
  implicit none
  double precision :: x
  integer :: calls, rank, i, ierr
  do i = 1, calls
    if (rank == 0) call MPI_Send(x, 1, MPI_DOUBLE_PRECISION, 1, 0, MPI_COMM_WORLD, ierr)
    call MPI_Recv(x, 1, MPI_DOUBLE_PRECISION, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    if (rank == 1) call MPI_Send(x, 1, MPI_DOUBLE_PRECISION, 0, 0, MPI_COMM_WORLD, ierr)
  end do
end subroutine pingpong_mpi
