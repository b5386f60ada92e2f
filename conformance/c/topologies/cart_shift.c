/* ranks: 3 4 */
/* MPI 5.0 section 8.5.6: MPI_Cart_shift gives source and destination of a shift; beyond the edge of a dimension that is
 * not periodic they are MPI_PROC_NULL. */
#include "check.h"

int main(int argc, char **argv)
{
    int source = -9, destination = -9;
    MPI_Comm line, ring;
    start(&argc, &argv);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &world_size, (int[]){0}, 0, &line);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &world_size, (int[]){1}, 0, &ring);
    MPI_Cart_shift(line, 0, 1, &source, &destination);
    CHECK_INT(source, world_rank == 0 ? MPI_PROC_NULL : world_rank - 1);
    CHECK_INT(destination, world_rank == world_size - 1 ? MPI_PROC_NULL : world_rank + 1);
    MPI_Cart_shift(line, 0, -2, &source, &destination);
    CHECK_INT(source, world_rank + 2 >= world_size ? MPI_PROC_NULL : world_rank + 2);
    CHECK_INT(destination, world_rank < 2 ? MPI_PROC_NULL : world_rank - 2);
    MPI_Cart_shift(ring, 0, 1, &source, &destination);
    CHECK_INT(source, (world_rank + world_size - 1) % world_size);
    CHECK_INT(destination, (world_rank + 1) % world_size);
    MPI_Cart_shift(ring, 0, world_size, &source, &destination);
    CHECK_INT(source, world_rank);
    CHECK_INT(destination, world_rank);
    MPI_Comm_free(&line);
    MPI_Comm_free(&ring);
    return finish();
}
