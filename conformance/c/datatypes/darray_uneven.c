/* ranks: 1 */
/* MPI 5.0 section 5.1.4: a block distribution of 7 elements over 3 processes gives ceil(7/3) = 3, 3 and 1 elements;
 * cyclic gives process r the elements r, r + 3, r + 6; MPI_DISTRIBUTE_NONE with a grid of 1 gives everything. With
 * explicit block argument 4: 4, 3, 0. */
#include "check.h"

static void pieces(int distribution, int argument, int process, int length, const int *wanted)
{
    int sizes = 7, grid = distribution == MPI_DISTRIBUTE_NONE ? 1 : 3, size = -1, position = 0;
    int array[7] = {0, 1, 2, 3, 4, 5, 6}, out[7];
    char packed[100];
    MPI_Datatype type;
    CHECK_CALL(MPI_Type_create_darray(grid, process, 1, &sizes, &distribution, &argument, &grid, MPI_ORDER_C, MPI_INT, &type));
    MPI_Type_commit(&type);
    MPI_Type_size(type, &size);
    CHECK_INT(size, length * (int)sizeof(int));
    MPI_Pack(array, 1, type, packed, sizeof packed, &position, MPI_COMM_SELF);
    int end = position;
    position = 0;
    MPI_Unpack(packed, end, &position, out, length, MPI_INT, MPI_COMM_SELF);
    for (int i = 0; i < length; i++) CHECK_INT(out[i], wanted[i]);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    pieces(MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_DFLT_DARG, 0, 3, (int[]){0, 1, 2});
    pieces(MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_DFLT_DARG, 1, 3, (int[]){3, 4, 5});
    pieces(MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_DFLT_DARG, 2, 1, (int[]){6});
    pieces(MPI_DISTRIBUTE_BLOCK, 4, 0, 4, (int[]){0, 1, 2, 3});
    pieces(MPI_DISTRIBUTE_BLOCK, 4, 1, 3, (int[]){4, 5, 6});
    pieces(MPI_DISTRIBUTE_BLOCK, 4, 2, 0, NULL);
    pieces(MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_DFLT_DARG, 0, 3, (int[]){0, 3, 6});
    pieces(MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_DFLT_DARG, 2, 2, (int[]){2, 5});
    pieces(MPI_DISTRIBUTE_CYCLIC, 2, 0, 3, (int[]){0, 1, 6});
    pieces(MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_DFLT_DARG, 0, 7, (int[]){0, 1, 2, 3, 4, 5, 6});
    return finish();
}
