/* ranks: 1 2 3 4 */
/* MPI 5.0 sections 6.5 and 6.6: with counts and displacements per rank, in units of the type's extent. Rank r has r + 1
 * elements (rank 1 none), placed backwards with a gap of two between them; the gaps are not written. */
#include "check.h"

int main(int argc, char **argv)
{
    int counts[4], places[4], all[32], mine[5], wanted[32], next = 0;
    start(&argc, &argv);
    for (int i = 0; i < 32; i++) wanted[i] = -1;
    for (int r = world_size - 1; r >= 0; r--) {
        counts[r] = r == 1 ? 0 : r + 1;
        places[r] = next;
        for (int i = 0; i < counts[r]; i++) wanted[next + i] = 100 * r + i;
        next += counts[r] + 2;
    }
    for (int i = 0; i < counts[world_rank]; i++) mine[i] = 100 * world_rank + i;
    memset(all, -1, sizeof all);
    CHECK_CALL(MPI_Gatherv(mine, counts[world_rank], MPI_INT, all, counts, places, MPI_INT, 0, MPI_COMM_WORLD));
    if (world_rank == 0)
        for (int i = 0; i < 32; i++) CHECK_INT(all[i], wanted[i]);
    memset(mine, -1, sizeof mine);
    CHECK_CALL(MPI_Scatterv(wanted, counts, places, MPI_INT, mine, counts[world_rank], MPI_INT, 0, MPI_COMM_WORLD));
    for (int i = 0; i < counts[world_rank]; i++) CHECK_INT(mine[i], 100 * world_rank + i);
    CHECK_INT(mine[counts[world_rank]], -1);
    memset(all, -1, sizeof all);
    CHECK_CALL(MPI_Allgatherv(mine, counts[world_rank], MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < 32; i++) CHECK_INT(all[i], wanted[i]);
    memset(all, -1, sizeof all);
    memcpy(&all[places[world_rank]], mine, counts[world_rank] * sizeof(int));
    CHECK_CALL(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, counts, places, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < 32; i++) CHECK_INT(all[i], wanted[i]);
    return finish();
}
