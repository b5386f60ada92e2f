! ranks: 4
! MPI 5.0 chapter 7: groups, communicators, names with blanks, intercommunicators.
program communicators
#include "face_use.h"
  implicit none
#include "face_include.h"
  integer :: rank, size, failures = 0, e, n, result, local, ranks(2), other(2)
  integer :: ranges(3, 1)
  logical :: flag
  HANDLE(MPI_Comm) :: c, half, inter, merged
  HANDLE(MPI_Group) :: g, h, u
  character(len=MPI_MAX_OBJECT_NAME) :: name
  call start()
  call MPI_Comm_dup(MPI_COMM_WORLD, c, e)
  call MPI_Comm_compare(c, MPI_COMM_WORLD, result, e)
  CHECK(result == MPI_CONGRUENT)
  CHECK(c /= MPI_COMM_WORLD)
  call MPI_Comm_set_name(c, 'a name ', e)
  name = repeat('x', len(name))
  call MPI_Comm_get_name(c, name, n, e)
  CHECK(n == 6 .and. name == 'a name')
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, half, e)
  call MPI_Comm_rank(half, local, e)
  CHECK(local == merge(1, 0, rank < 2))
  call MPI_Comm_group(MPI_COMM_WORLD, g, e)
  ranks = [3, 1]
  call MPI_Group_incl(g, 2, ranks, h, e)
  call MPI_Group_rank(h, n, e)
  CHECK(n == merge(0, merge(1, MPI_UNDEFINED, rank == 1), rank == 3))
  call MPI_Group_translate_ranks(h, 2, [0, 1], g, other, e)
  CHECK(all(other == ranks))
  ranges(:, 1) = [0, 3, 2]
  call MPI_Group_range_incl(g, 1, ranges, u, e)
  call MPI_Group_size(u, n, e)
  CHECK(n == 2)
  call MPI_Group_free(u, e)
  CHECK(u == MPI_GROUP_NULL)
  call MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 2 + mod(rank + 1, 2), 9, inter, e)
  if (mod(rank, 2) == 0) continue
  call MPI_Comm_test_inter(inter, flag, e)
  CHECK(flag)
  call MPI_Comm_remote_size(inter, n, e)
  CHECK(n == 2)
  call MPI_Intercomm_merge(inter, mod(rank, 2) == 1, merged, e)
  call MPI_Comm_rank(merged, n, e)
  CHECK((n >= 2) .eqv. (mod(rank, 2) == 1))
  call MPI_Comm_free(merged, e)
  call MPI_Comm_free(inter, e)
  call MPI_Comm_free(half, e)
  call MPI_Comm_free(c, e)
  CHECK(c == MPI_COMM_NULL)
  call finish()
contains
#include "check.h"
end program communicators
