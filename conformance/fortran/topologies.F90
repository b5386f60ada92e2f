! ranks: 4
! MPI 5.0 chapter 8: LOGICAL arrays, MPI_UNWEIGHTED, collectives among neighbours.
program topologies
#include "face_use.h"
  implicit none
#include "face_include.h"
  integer :: rank, size, failures = 0, e, n, m, from, to, dims(2), coords(2), around(4), kind
  integer :: sources(1), targets(1), weight(1), counts(4), got(4)
  logical :: periods(2), found(2), remain(2), weighted
  HANDLE(MPI_Comm) :: cart, line, graph
  call start()
  dims = 0
  call MPI_Dims_create(4, 2, dims, e)
  CHECK(all(dims == 2))
  periods = [.true., .false.]
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, .false., cart, e)
  call MPI_Cart_get(cart, 2, dims, found, coords, e)
  CHECK(found(1) .and. .not. found(2))
  CHECK(all(coords == [rank / 2, mod(rank, 2)]))
  call MPI_Cart_rank(cart, coords, n, e)
  CHECK(n == rank)
  call MPI_Cart_shift(cart, 1, 1, from, to, e)
  CHECK(to == merge(rank + 1, MPI_PROC_NULL, coords(2) == 0))
  remain = [.false., .true.]
  call MPI_Cart_sub(cart, remain, line, e)
  call MPI_Comm_size(line, n, e)
  CHECK(n == 2)
  call MPI_Cartdim_get(line, n, e)
  CHECK(n == 1)
  around = -1
  call MPI_Neighbor_allgather(rank, 1, MPI_INTEGER, around, 1, MPI_INTEGER, cart, e)
  CHECK(all(around(1:2) == mod(rank + 2, 4)))
  call MPI_Topo_test(cart, kind, e)
  CHECK(kind == MPI_CART)
  sources = mod(rank + 3, 4)
  targets = mod(rank + 1, 4)
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, MPI_UNWEIGHTED, 1, targets, &
    MPI_UNWEIGHTED, MPI_INFO_NULL, .false., graph, e)
  call MPI_Dist_graph_neighbors_count(graph, n, m, weighted, e)
  CHECK(n == 1 .and. m == 1 .and. .not. weighted)
  got = -1
  call MPI_Neighbor_alltoall(rank, 1, MPI_INTEGER, got, 1, MPI_INTEGER, graph, e)
  CHECK(got(1) == sources(1))
  call MPI_Comm_free(graph, e)
  weight = rank + 1
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, weight, 1, targets, weight, &
    MPI_INFO_NULL, .false., graph, e)
  call MPI_Dist_graph_neighbors(graph, 1, sources, counts(1:1), 1, targets, weight, e)
  CHECK(weight(1) == rank + 1)
  call MPI_Comm_free(graph, e)
  call MPI_Graph_create(MPI_COMM_WORLD, 4, [1, 2, 3, 4], [1, 0, 3, 2], .false., graph, e)
  call MPI_Graph_neighbors_count(graph, rank, n, e)
  CHECK(n == 1)
  call MPI_Graph_neighbors(graph, rank, 1, got, e)
  CHECK(got(1) == ieor(rank, 1))
  call MPI_Graphdims_get(graph, n, m, e)
  CHECK(n == 4 .and. m == 4)
  call MPI_Comm_free(graph, e)
  call MPI_Comm_free(line, e)
  call MPI_Comm_free(cart, e)
  call finish()
contains
#include "check.h"
end program topologies
