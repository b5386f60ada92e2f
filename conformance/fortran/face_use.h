! Which of the three interfaces a program is compiled for: FACE_F08, FACE_MPI or FACE_MPIF.
#define CHECK(condition) call check(condition, __LINE__)
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
