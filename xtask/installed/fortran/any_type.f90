! Buffers of every declaration in mpi_f08: polymorphic, allocatable, pointer, derived.
program any_type
  use mpi_f08
  implicit none
  type :: point
    sequence
    double precision :: x, y
  end type point
  type :: base
    integer :: number = 0
  end type base
  type, extends(base) :: longer
    integer :: more = 0
  end type longer
  integer :: rank, wrong
  type(point) :: points(3)
  class(base), allocatable :: something
  integer, allocatable :: numbers(:)
  integer, pointer :: column(:)
  integer, target :: table(4, 4)
  wrong = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  points = point(dble(rank) + 1, dble(rank) + 2)
  call MPI_Bcast(points, 6, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD)
  if (points(3)%y /= 2) wrong = wrong + 1
  allocate(longer :: something)
  something%number = rank + 5
  call give(something)
  if (something%number /= 5) wrong = wrong + 1
  numbers = [rank, rank + 1, rank + 2]
  call MPI_Bcast(numbers, 3, MPI_INTEGER, 0, MPI_COMM_WORLD)
  if (any(numbers /= [0, 1, 2])) wrong = wrong + 1
  table = rank
  column => table(2, :)
  call MPI_Bcast(column, 4, MPI_INTEGER, 0, MPI_COMM_WORLD)
  if (any(table(2, :) /= 0) .or. any(table(1, :) /= rank)) wrong = wrong + 1
  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0 .and. wrong == 0) print '(a)', 'correct'
  call MPI_Finalize()
contains
  subroutine give(what)
    class(base), intent(inout) :: what
    call MPI_Bcast(what%number, 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call whole(what)
  end subroutine give

  subroutine whole(what)
    class(*), intent(inout) :: what
    call MPI_Bcast(what, 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
  end subroutine whole
end program any_type
