! ranks: 2
! MPI 5.0 chapters 9, 11 and 20: start, versions, clocks, memory, sessions, the ABI.
program environment
#include "face_use.h"
#ifdef FACE_F08
  use, intrinsic :: iso_c_binding
#endif
  implicit none
#include "face_include.h"
  integer :: rank = -1, size, failures = 0, e, n, m, provided
  logical :: flag
  double precision :: t
  character(len=MPI_MAX_PROCESSOR_NAME) :: name
  character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version
  HANDLE(MPI_Session) :: session
  HANDLE(MPI_Group) :: group
  HANDLE(MPI_Info) :: i
  call MPI_Initialized(flag, e)
  CHECK(.not. flag)
  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, e)
  CHECK(provided >= MPI_THREAD_FUNNELED)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, e)
  call MPI_Comm_size(MPI_COMM_WORLD, size, e)
  call MPI_Initialized(flag, e)
  CHECK(flag)
  call MPI_Is_thread_main(flag, e)
  CHECK(flag)
  call MPI_Get_version(n, m, e)
  CHECK(n == MPI_VERSION .and. m == MPI_SUBVERSION)
  call MPI_Get_processor_name(name, n, e)
  CHECK(n > 0 .and. len_trim(name) == n)
  call MPI_Get_library_version(version, n, e)
  CHECK(n > 0)
  t = MPI_Wtime()
  CHECK(MPI_Wtime() >= t .and. MPI_Wtick() > 0)
  call MPI_Pcontrol(1)
  call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session, e)
  call MPI_Session_get_num_psets(session, MPI_INFO_NULL, n, e)
  CHECK(n >= 2)
  n = len(name)
  m = 0
#if defined(ON_MPICH) && !defined(FACE_F08)
  m = 1 ! MPICH 4.0 takes n from 1 here, and from 0 in mpi_f08; section 11.3.2 says from 0.
#endif
  call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, m, n, name, e)
  CHECK(name == 'mpi://WORLD' .or. name == 'mpi://SELF')
#ifndef ON_MPICH
  CHECK(n == len_trim(name) .or. n == len(name))
  call MPI_Abi_get_version(n, m, e)
  CHECK(n == 1 .and. m == 0)
  call abi()
#endif
  call MPI_Group_from_session_pset(session, 'mpi://SELF  ', group, e)
  call MPI_Group_size(group, n, e)
  CHECK(n == 1)
  call MPI_Group_free(group, e)
  call MPI_Session_finalize(session, e)
  call memory()
  call finish()
contains
#ifndef ON_MPICH
  subroutine abi()
    logical :: truth, falsehood, known
    call MPI_Abi_get_fortran_booleans(4, truth, falsehood, known, e)
    CHECK(known .and. truth .and. .not. falsehood)
    call MPI_Abi_get_fortran_info(i, e)
    call MPI_Info_get(i, 'mpi_integer_size', len(name), name, known, e)
    CHECK(known .and. name == '4')
    call MPI_Info_free(i, e)
  end subroutine abi
#endif

  subroutine memory()
#ifdef FACE_F08
    type(c_ptr) :: base
    integer, pointer :: a(:)
    call MPI_Alloc_mem(64_MPI_ADDRESS_KIND, MPI_INFO_NULL, base, e)
    call c_f_pointer(base, a, [16])
    a = 5
    CHECK(sum(a) == 80)
    call MPI_Free_mem(a, e)
    CHECK(e == MPI_SUCCESS)
#else
    integer(kind=MPI_ADDRESS_KIND) :: base
    call MPI_Alloc_mem(64_MPI_ADDRESS_KIND, MPI_INFO_NULL, base, e)
    CHECK(e == MPI_SUCCESS .and. base /= 0)
#endif
  end subroutine memory
#include "check.h"
end program environment
