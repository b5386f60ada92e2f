! A two-dimensional transform of a wave, by FFTW's Fortran interface of MPI, there and back.
program fftw_mpi
  use, intrinsic :: iso_c_binding
  use mpi
  implicit none
  include 'fftw3-mpi.f03'
  integer(c_intptr_t), parameter :: rows = 24, columns = 20
  integer(c_intptr_t) :: local_bytes, local, offset, i, j
  type(c_ptr) :: plan, back, memory
  complex(c_double_complex), pointer :: a(:, :)
  double precision :: angle, worst, whole
  integer :: e, rank, found, all_found
  call MPI_Init(e)
  call fftw_mpi_init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, e)
  local_bytes = fftw_mpi_local_size_2d(rows, columns, MPI_COMM_WORLD, local, offset)
  memory = fftw_alloc_complex(local_bytes)
  call c_f_pointer(memory, a, [columns, local])
  plan = fftw_mpi_plan_dft_2d(rows, columns, a, a, MPI_COMM_WORLD, FFTW_FORWARD, FFTW_ESTIMATE)
  back = fftw_mpi_plan_dft_2d(rows, columns, a, a, MPI_COMM_WORLD, FFTW_BACKWARD, FFTW_ESTIMATE)
  do j = 1, local
    do i = 1, columns
      angle = 2 * acos(-1d0) * (3 * dble(offset + j - 1) / rows + 5 * dble(i - 1) / columns)
      a(i, j) = exp(cmplx(0, angle, kind(angle)))
    end do
  end do
  call fftw_mpi_execute_dft(plan, a, a)
  ! One frequency: all of it at row 3, column 5, nothing elsewhere.
  found = 0
  worst = 0
  do j = 1, local
    do i = 1, columns
      if (offset + j == 4 .and. i == 6) then
        found = found + 1
        worst = max(worst, abs(a(i, j) - rows * columns))
      else
        worst = max(worst, abs(a(i, j)))
      end if
    end do
  end do
  call fftw_mpi_execute_dft(back, a, a)
  do j = 1, local
    do i = 1, columns
      angle = 2 * acos(-1d0) * (3 * dble(offset + j - 1) / rows + 5 * dble(i - 1) / columns)
      worst = max(worst, abs(a(i, j) / (rows * columns) - exp(cmplx(0, angle, kind(angle)))))
    end do
  end do
  call MPI_Allreduce(worst, whole, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, e)
  call MPI_Allreduce(found, all_found, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, e)
  if (rank == 0) then
    if (whole < 1d-9 .and. all_found == 1) print '(a)', 'correct'
    if (whole >= 1d-9 .or. all_found /= 1) print *, 'wrong by', whole, 'found', all_found
  end if
  call fftw_destroy_plan(plan)
  call fftw_destroy_plan(back)
  call fftw_free(memory)
  call fftw_mpi_cleanup()
  call MPI_Finalize(e)
end program fftw_mpi
