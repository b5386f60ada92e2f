c     What programs of the NAS kind do: fixed form, mpif.h inside a module and inside procedures,
c     lines up to column 72 and beyond (-ffixed-line-length-132), one procedure for several types.
      module shared
      implicit none
      include 'mpif.h'
      integer me, ranks, ierr, world
      double precision field(0:9, 4)
      contains
      subroutine begin
      call MPI_INIT(ierr)
      world = MPI_COMM_WORLD
      call mpi_comm_rank(world, me, ierr)
      call Mpi_Comm_Size(world, ranks, ierr)
      end subroutine begin
      end module shared

      program long_lines
      use shared
      implicit none
      integer right, left, kind_of, i, requests(2), statuses(MPI_STATUS_SIZE, 2), numbers(3)
      integer got(3), wrong, all
      double precision total, part
      complex*16 turned(2)
      logical same
      call begin
      right = mod(me + 1, ranks)
      left = mod(me + ranks - 1, ranks)
      kind_of = MPI_DOUBLE_PRECISION
      field = dble(me)
      wrong = 0
      call MPI_IRECV(field(0, 2), 10, kind_of, left, 7, world, requests(1), ierr)
      call MPI_ISEND(field(0, 1), 10, kind_of, right, 7, world, requests(2), ierr)
      call MPI_WAITALL(2, requests, statuses, ierr)
      if (any(field(:, 2) .ne. dble(left))) wrong = wrong + 1
      if (statuses(MPI_SOURCE, 1) .ne. left) wrong = wrong + 1
      do i = 1, 3
        numbers(i) = me * i
      end do
      call MPI_REDUCE(numbers, got, 3, MPI_INTEGER, MPI_SUM, 0, world, ierr)
      if (me .eq. 0 .and. got(2) .ne. ranks * (ranks - 1)) wrong = wrong + 1
      part = 1d0
      call MPI_ALLREDUCE(part, total, 1, kind_of, MPI_SUM, world, ierr)
      if (total .ne. dble(ranks)) wrong = wrong + 1
      turned = (1d0, 2d0)
      if (me .ne. 0) turned = 0
      call MPI_BCAST(turned, 2, MPI_DOUBLE_COMPLEX, 0, world, ierr)
      if (turned(2) .ne. (1d0, 2d0)) wrong = wrong + 1
      same = me .eq. 0
      call MPI_BCAST(same, 1, MPI_LOGICAL, 0, world, ierr)
      if (.not. same) wrong = wrong + 1
      call MPI_ALLREDUCE(wrong, all, 1, MPI_INTEGER, MPI_SUM, world, ierr)
      if (me .eq. 0 .and. all .eq. 0) print *, 'correct'
      call MPI_FINALIZE(ierr)
      end program long_lines
