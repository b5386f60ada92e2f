! The calls that the NAS benchmarks make, on a problem whose answer is known: a ring of partial sums.
program habit
  use setup
  implicit none
  integer :: ierr, i, request, status(MPI_STATUS_SIZE)
  double precision :: mine, total, most
  integer, parameter :: n = 1000
  call mpi_init(ierr)
  call mpi_comm_rank(MPI_COMM_WORLD, me, ierr)
  call mpi_comm_size(MPI_COMM_WORLD, procs, ierr)
  call mpi_comm_dup(MPI_COMM_WORLD, comm_setup, ierr)
  dp_type = MPI_DOUBLE_PRECISION
  call timer_clear
  call timer_start
  allocate (x(n), left(n))
  do i = 1, n
    x(i) = dble(me * n + i)
  end do
  i = n
  call mpi_bcast(i, 1, MPI_INTEGER, 0, comm_setup, ierr)
  call mpi_irecv(left, n, dp_type, mod(me + procs - 1, procs), 7, comm_setup, request, ierr)
  call mpi_send(x, n, dp_type, mod(me + 1, procs), 7, comm_setup, ierr)
  call mpi_wait(request, status, ierr)
  mine = sum(left)
  call mpi_allreduce(mine, total, 1, dp_type, MPI_SUM, comm_setup, ierr)
  call timer_stop(mine)
  call mpi_reduce(mine, most, 1, dp_type, MPI_MAX, 0, comm_setup, ierr)
  call mpi_barrier(MPI_COMM_WORLD, ierr)
  if (me == 0) then
    if (total == 0.5d0 * n * procs * (n * procs + 1d0) .and. most >= 0) then
      print *, 'Verification Successful'
    else
      print *, 'Verification failed', total
    end if
  end if
  call mpi_finalize(ierr)
end program habit
