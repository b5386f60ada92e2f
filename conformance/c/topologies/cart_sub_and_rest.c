/* ranks: 4 */
/* MPI 5.0 section 8.5: MPI_Cart_sub keeps the chosen dimensions; with none kept the result is a zero-dimensional
 * topology of one process. Processes that do not fit into the grid get MPI_COMM_NULL; a grid larger than the group is
 * an error. MPI_Cart_map proposes a rank or MPI_UNDEFINED. */
#include "check.h"

int main(int argc, char **argv)
{
    int size = -1, rank = -1, count = -1, sum = -1, proposal = -5;
    MPI_Comm grid, rows, point, three, none = MPI_COMM_WORLD;
    start(&argc, &argv);
    errors_return();
    MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){2, 2}, (int[]){0, 0}, 0, &grid);
    CHECK_CALL(MPI_Cart_sub(grid, (int[]){0, 1}, &rows));
    MPI_Comm_size(rows, &size);
    MPI_Comm_rank(rows, &rank);
    CHECK_INT(size, 2);
    CHECK_INT(rank, world_rank % 2);
    MPI_Allreduce(&world_rank, &sum, 1, MPI_INT, MPI_SUM, rows);
    CHECK_INT(sum, world_rank < 2 ? 1 : 5);
    CHECK_CALL(MPI_Cart_sub(grid, (int[]){0, 0}, &point));
    MPI_Comm_size(point, &size);
    CHECK_INT(size, 1);
    MPI_Cartdim_get(point, &count);
    CHECK_INT(count, 0);
    MPI_Cart_create(MPI_COMM_WORLD, 1, (int[]){3}, (int[]){0}, 0, &three);
    CHECK((three == MPI_COMM_NULL) == (world_rank == 3));
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 1, (int[]){5}, (int[]){0}, 0, &none) != MPI_SUCCESS);
    CHECK(none == MPI_COMM_NULL);
    MPI_Cart_map(MPI_COMM_WORLD, 1, (int[]){3}, (int[]){0}, &proposal);
    CHECK((proposal >= 0 && proposal < 3) || proposal == MPI_UNDEFINED);
    if (three != MPI_COMM_NULL) MPI_Comm_free(&three);
    MPI_Comm_free(&point);
    MPI_Comm_free(&rows);
    MPI_Comm_free(&grid);
    return finish();
}
