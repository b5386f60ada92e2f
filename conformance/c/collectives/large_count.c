/* ranks: 2 */
/* MPI 5.0 sections 6 and 2.5.8: the _c forms with MPI_Count counts and MPI_Aint displacements mean the same as the int
 * forms. */
#include "check.h"

int main(int argc, char **argv)
{
    int data = -1, mine, all[8], sum = -1, out[2], in[2];
    MPI_Count counts[2] = {1, 2};
    MPI_Aint places[2] = {4, 1};
    start(&argc, &argv);
    mine = 3 + world_rank;
    if (world_rank == 0) data = 5;
    CHECK_CALL(MPI_Bcast_c(&data, 1, MPI_INT, 0, MPI_COMM_WORLD));
    CHECK_INT(data, 5);
    CHECK_CALL(MPI_Allreduce_c(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_INT(sum, 7);
    int two[2] = {10 * world_rank, 10 * world_rank + 1};
    memset(all, -1, sizeof all);
    CHECK_CALL(MPI_Allgatherv_c(two, counts[world_rank], MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD));
    int wanted[8] = {-1, 10, 11, -1, 0, -1, -1, -1};
    CHECK_BYTES(all, wanted, sizeof wanted);
    out[0] = 100 * world_rank;
    out[1] = 100 * world_rank + 1;
    MPI_Count ones[2] = {1, 1};
    MPI_Aint forwards[2] = {0, 1}, backwards[2] = {1, 0};
    CHECK_CALL(MPI_Alltoallv_c(out, ones, forwards, MPI_INT, in, ones, backwards, MPI_INT, MPI_COMM_WORLD));
    CHECK_INT(in[1], world_rank);
    CHECK_INT(in[0], 100 + world_rank);
    return finish();
}
