c     Timers in fixed form, with mpif.h.
      subroutine timer_clear
      double precision start, elapsed
      common /tt/ start, elapsed
      elapsed = 0.0d0
      return
      end

      subroutine timer_start
      include 'mpif.h'
      double precision start, elapsed
      common /tt/ start, elapsed
      start = MPI_WTIME()
      return
      end

      subroutine timer_stop(t)
      include 'mpif.h'
      double precision t, start, elapsed
      common /tt/ start, elapsed
      integer ierr
      call c_barrier(MPI_COMM_WORLD, ierr)
      if (ierr .ne. MPI_SUCCESS) call MPI_ABORT(MPI_COMM_WORLD,
     >                                         MPI_ERR_OTHER, ierr)
      elapsed = elapsed + MPI_WTIME() - start
      t = elapsed
      return
      end
