! Which of the three interfaces a program is compiled for: FACE_F08, FACE_MPI or FACE_MPIF.
#define CHECK(condition) call check(condition, __LINE__)
! What Debian's MPICH 4.0 does otherwise than the standard, so that all else can be compared:
! its MPI_F_sync_reg stores an ierror that the procedure does not have (MPI 5.0 section 19.1.17),
#if defined(ON_MPICH) && !defined(FACE_F08)
#define SYNC(x) continue
#else
#define SYNC(x) call MPI_F_sync_reg(x)
#endif
! and its mpi_f08 counts places of requests from 0 (section 19.1: Fortran's arrays begin at 1).
#if defined(ON_MPICH) && defined(FACE_F08)
#define PLACE(p) (p + 1)
#else
#define PLACE(p) (p)
#endif
#ifdef FACE_F08
#define HANDLE(of) type(of)
#define STATUS(s) type(MPI_Status) :: s
#define STATUSES(s,n) type(MPI_Status) :: s(n)
#define FIELD(s,of) s%of
#define FIELDS(s,i,of) s(i)%of
  use mpi_f08
#else
#define HANDLE(of) integer
#define STATUS(s) integer :: s(MPI_STATUS_SIZE)
#define STATUSES(s,n) integer :: s(MPI_STATUS_SIZE,n)
#define FIELD(s,of) s(of)
#define FIELDS(s,i,of) s(of,i)
#ifdef FACE_MPI
  use mpi
#endif
#endif
