/* ranks: 1 2 3 4 */
/* MPI 5.0 sections 6.5 and 6.6: gather puts the piece of rank i at position i of the root, scatter takes it from there.
 * With MPI_IN_PLACE the root's own piece is already (or stays) where it belongs. */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    for (int root = 0; root < world_size; root++) {
        int all[12], mine[3];
        for (int i = 0; i < 3; i++) mine[i] = 10 * world_rank + i;
        memset(all, -1, sizeof all);
        CHECK_CALL(MPI_Gather(mine, 3, MPI_INT, all, 3, MPI_INT, root, MPI_COMM_WORLD));
        if (world_rank == root)
            for (int i = 0; i < 3 * world_size; i++) CHECK_INT(all[i], 10 * (i / 3) + i % 3);
        else CHECK_INT(all[0], -1);

        if (world_rank == root) {
            memset(all, -1, sizeof all);
            memcpy(&all[3 * root], mine, sizeof mine);
            MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 3, MPI_INT, root, MPI_COMM_WORLD);
            for (int i = 0; i < 3 * world_size; i++) CHECK_INT(all[i], 10 * (i / 3) + i % 3);
        } else {
            MPI_Gather(mine, 3, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
        }

        for (int i = 0; i < 12; i++) all[i] = 100 + i;
        memset(mine, 0, sizeof mine);
        CHECK_CALL(MPI_Scatter(all, 3, MPI_INT, mine, 3, MPI_INT, root, MPI_COMM_WORLD));
        for (int i = 0; i < 3; i++) CHECK_INT(mine[i], 100 + 3 * world_rank + i);
        memset(mine, 0, sizeof mine);
        if (world_rank == root) {
            MPI_Scatter(all, 3, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
            for (int i = 0; i < 12; i++) CHECK_INT(all[i], 100 + i);
        } else {
            MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, mine, 3, MPI_INT, root, MPI_COMM_WORLD);
            for (int i = 0; i < 3; i++) CHECK_INT(mine[i], 100 + 3 * world_rank + i);
        }
    }
    return finish();
}
