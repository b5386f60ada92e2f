! ranks: 2
! skip-mpich: MPI_BUFFER_AUTOMATIC is later than it
! MPI 5.0 sections 2.5.4 and 19.1.6: constants that are no values but addresses.
program sentinels
#include "face_use.h"
  use, intrinsic :: iso_c_binding, only: c_ptr
  implicit none
#include "face_include.h"
  integer :: rank, size, failures = 0, e, n, in, out, x, s(1), w(1), class, codes(2)
  integer :: indegree, outdegree
  logical :: weighted
  type(c_ptr) :: memory
  HANDLE(MPI_Comm) :: graph, child
  HANDLE(MPI_Request) :: r(2)
  STATUS(one)
  character(len=10) :: commands(2), argv(2), argvs(2, 2)
  HANDLE(MPI_Info) :: infos(2)
  call start()
  ! Rank 0 has no edge, with and without weights.
  n = 0
  if (rank == 1) n = 1
  s = 1
  w = 5
  if (rank == 0) then
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, s, MPI_WEIGHTS_EMPTY, 0, s, &
      MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, .false., graph, e)
  else
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, s, w, 1, s, w, MPI_INFO_NULL, &
      .false., graph, e)
  end if
  CHECK(e == MPI_SUCCESS)
  call MPI_Dist_graph_neighbors_count(graph, indegree, outdegree, weighted, e)
  CHECK(indegree == n .and. outdegree == n .and. weighted)
  call MPI_Comm_free(graph, e)
  call MPI_Dist_graph_create(MPI_COMM_WORLD, n, s, [1], s, MPI_UNWEIGHTED, MPI_INFO_NULL, &
    .false., graph, e)
  call MPI_Dist_graph_neighbors_count(graph, indegree, outdegree, weighted, e)
  CHECK(.not. weighted .and. indegree == n)
  call MPI_Comm_free(graph, e)
  ! Buffered messages without a buffer of the program.
  call MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0, e)
  CHECK(e == MPI_SUCCESS)
  out = rank + 10
  call MPI_Bsend(out, 1, MPI_INTEGER, 1 - rank, 3, MPI_COMM_WORLD, e)
  call MPI_Recv(in, 1, MPI_INTEGER, 1 - rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE, e)
  CHECK(in == 11 - rank)
#ifdef FACE_F08
  call MPI_Buffer_detach(memory, n, e)
#else
  call MPI_Buffer_detach(x, n, e)
#endif
  CHECK(e == MPI_SUCCESS)
  ! Every call that gives statuses takes the constants.
  call MPI_Isend(out, 1, MPI_INTEGER, 1 - rank, 4, MPI_COMM_WORLD, r(1), e)
  call MPI_Irecv(in, 1, MPI_INTEGER, 1 - rank, 4, MPI_COMM_WORLD, r(2), e)
  call MPI_Waitsome(2, r, n, codes, MPI_STATUSES_IGNORE, e)
  call MPI_Waitall(2, r, MPI_STATUSES_IGNORE, e)
  call MPI_Testall(2, r, weighted, MPI_STATUSES_IGNORE, e)
  CHECK(weighted)
  call MPI_Sendrecv(out, 1, MPI_INTEGER, 1 - rank, 5, in, 1, MPI_INTEGER, MPI_ANY_SOURCE, &
    MPI_ANY_TAG, MPI_COMM_WORLD, one, e)
  CHECK(FIELD(one, MPI_SOURCE) == 1 - rank .and. FIELD(one, MPI_TAG) == 5)
  call MPI_Get_count(one, MPI_INTEGER, n, e)
  CHECK(n == 1)
  call MPI_Bcast(MPI_BOTTOM, 0, MPI_INTEGER, 0, MPI_COMM_WORLD, e)
  CHECK(e == MPI_SUCCESS)
  ! Programs that are started: what cannot be done is an error and not an accident.
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, e)
  commands = 'no-such'
  infos = MPI_INFO_NULL
  call MPI_Comm_spawn('no-such', MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, child, &
    MPI_ERRCODES_IGNORE, e)
  call MPI_Error_class(e, class, n)
  CHECK(class == MPI_ERR_SPAWN .or. class == MPI_ERR_UNSUPPORTED_OPERATION)
  call MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, [1, 1], infos, 0, MPI_COMM_SELF, &
    child, codes, e)
  call MPI_Error_class(e, class, n)
  CHECK(class == MPI_ERR_SPAWN .or. class == MPI_ERR_UNSUPPORTED_OPERATION)
  argv = ['-a        ', '          ']
  argvs = ' '
  call MPI_Comm_spawn('no-such', argv, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, child, codes, e)
  CHECK(e /= MPI_SUCCESS)
  call MPI_Comm_spawn_multiple(2, commands, argvs, [1, 1], infos, 0, MPI_COMM_SELF, child, &
    MPI_ERRCODES_IGNORE, e)
  CHECK(e /= MPI_SUCCESS)
  call finish()
contains
#include "check.h"
end program sentinels
