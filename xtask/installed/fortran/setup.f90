! A module with the program's data, as the benchmarks have one: everybody uses mpi through it.
module setup
  use mpi
  implicit none
  integer :: me, procs, dp_type, comm_setup
  double precision, allocatable :: x(:), left(:)
end module setup
