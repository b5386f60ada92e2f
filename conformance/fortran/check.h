  subroutine start()
    integer :: e
    call MPI_Init(e)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, e)
    call MPI_Comm_size(MPI_COMM_WORLD, size, e)
  end subroutine start

  subroutine check(condition, line)
    logical, intent(in) :: condition
    integer, intent(in) :: line
    if (.not. condition) then
      failures = failures + 1
      print '(a,i0,a,i0)', 'rank ', rank, ': wrong in line ', line
    end if
  end subroutine check

  subroutine finish()
    integer :: e, all
    all = 0
    call MPI_Allreduce(failures, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, e)
    if (rank == 0 .and. all == 0) print '(a)', 'ok'
    call MPI_Finalize(e)
    if (all /= 0) stop 1
  end subroutine finish
