! What a call costs in each interface; the least of many rounds, which other programs disturb least.
program cost
  use mpi_f08
  implicit none
  integer, parameter :: rounds = 200, calls = 2000
  character(len=8), parameter :: names(4) = ['C       ', 'mpif.h  ', 'mpi     ', 'mpi_f08 ']
  double precision :: x(1), best(4), t
  integer :: rank, size, round, face, i
  external :: send_c, send_mpif, send_mpi, pingpong_c, pingpong_mpif, pingpong_mpi
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  x = 0
  best = huge(t)
  do round = 1, rounds
    do face = 1, 4
      t = MPI_Wtime()
      select case (face)
      case (1)
        call send_c(x, calls)
      case (2)
        call send_mpif(x, calls)
      case (3)
        call send_mpi(x, calls)
      case (4)
        do i = 1, calls
          call MPI_Send(x, 1, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 0, MPI_COMM_WORLD)
        end do
      end select
      best(face) = min(best(face), (MPI_Wtime() - t) / calls)
    end do
  end do
  if (rank == 0) call tell('send to MPI_PROC_NULL')
  best = huge(t)
  if (size >= 2) then
    do round = 1, rounds
      do face = 1, 4
        call MPI_Barrier(MPI_COMM_WORLD)
        if (rank > 1) cycle
        t = MPI_Wtime()
        select case (face)
        case (1)
          call pingpong_c(x, calls / 10, rank)
        case (2)
          call pingpong_mpif(x, calls / 10, rank)
        case (3)
          call pingpong_mpi(x, calls / 10, rank)
        case (4)
          call pingpong_f08(calls / 10)
        end select
        best(face) = min(best(face), (MPI_Wtime() - t) / (calls / 10) / 2)
      end do
    end do
    if (rank == 0) call tell('ping-pong of 8 bytes, one way')
  end if
  call MPI_Finalize()
contains
  subroutine pingpong_f08(calls)
    integer, intent(in) :: calls
    do i = 1, calls
      if (rank == 0) call MPI_Send(x, 1, MPI_DOUBLE_PRECISION, 1, 0, MPI_COMM_WORLD)
      call MPI_Recv(x, 1, MPI_DOUBLE_PRECISION, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
      if (rank == 1) call MPI_Send(x, 1, MPI_DOUBLE_PRECISION, 0, 0, MPI_COMM_WORLD)
    end do
  end subroutine pingpong_f08

  subroutine tell(what)
    character(len=*), intent(in) :: what
    print '(a)', what
    do face = 1, 4
      print '(2x,a,f9.1,a,f8.1,a)', names(face), best(face) * 1d9, ' ns, ', &
        (best(face) - best(1)) * 1d9, ' ns over C'
    end do
  end subroutine tell
end program cost
