c     The loops with mpif.h.
      subroutine send_mpif(x, calls)
      include 'mpif.h'
      double precision x
      integer calls, i, ierr
      do i = 1, calls
        call MPI_SEND(x, 1, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 0,
     &    MPI_COMM_WORLD, ierr)
      end do
      end

      subroutine pingpong_mpif(x, calls, rank)
      include 'mpif.h'
      double precision x
      integer calls, rank, i, ierr
      do i = 1, calls
        if (rank .eq. 0) call MPI_SEND(x, 1, MPI_DOUBLE_PRECISION, 1,
     &    0, MPI_COMM_WORLD, ierr)
        call MPI_RECV(x, 1, MPI_DOUBLE_PRECISION, 1 - rank, 0,
     &    MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
        if (rank .eq. 1) call MPI_SEND(x, 1, MPI_DOUBLE_PRECISION, 0,
     &    0, MPI_COMM_WORLD, ierr)
      end do
      end
