! The sum of all ranks, by the modern interface; says "correct".
program sum_of_ranks
  use mpi_f08
  implicit none
  integer :: rank, size, total
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0 .and. total == size * (size - 1) / 2) print '(a)', 'correct'
  call MPI_Finalize()
end program sum_of_ranks
