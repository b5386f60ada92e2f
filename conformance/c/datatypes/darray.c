/* ranks: 1 */
/* MPI 5.0 section 5.1.4: the array distributed over a process grid, HPF-like. An 8 x 6 array of ints on a 2 x 3 grid,
 * rows cyclic(2) and columns block: process (p, q) of the row-major grid owns rows with (i / 2) % 2 == p and columns 2q
 * and 2q + 1. The pieces of all six processes together are every element once, and each piece keeps the storage order. */
#include "check.h"

enum { ROWS = 8, COLUMNS = 6 };

int main(int argc, char **argv)
{
    int sizes[2] = {ROWS, COLUMNS}, grid[2] = {2, 3}, array[ROWS * COLUMNS], owned[ROWS * COLUMNS] = {0};
    int distributions[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK}, arguments[2] = {2, MPI_DISTRIBUTE_DFLT_DARG};
    start(&argc, &argv);
    for (int i = 0; i < ROWS * COLUMNS; i++) array[i] = i;
    for (int process = 0; process < 6; process++) {
        MPI_Datatype type;
        MPI_Aint lower, extent;
        int size = -1, piece[8], position = 0, k = 0;
        char packed[256];
        CHECK_CALL(MPI_Type_create_darray(6, process, 2, sizes, distributions, arguments, grid, MPI_ORDER_C, MPI_INT, &type));
        MPI_Type_commit(&type);
        MPI_Type_size(type, &size);
        CHECK_INT(size, 8 * sizeof(int));
        MPI_Type_get_extent(type, &lower, &extent);
        CHECK_INT(lower, 0);
        CHECK_INT(extent, sizeof array);
        MPI_Pack(array, 1, type, packed, sizeof packed, &position, MPI_COMM_SELF);
        int end = position;
        position = 0;
        MPI_Unpack(packed, end, &position, piece, 8, MPI_INT, MPI_COMM_SELF);
        int p = process / 3, q = process % 3;
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++)
                if ((i / 2) % 2 == p && j / 2 == q) CHECK_INT(piece[k++], i * COLUMNS + j);
        for (int i = 0; i < 8; i++) owned[piece[i]]++;
        MPI_Type_free(&type);
    }
    for (int i = 0; i < ROWS * COLUMNS; i++) CHECK_INT(owned[i], 1);
    return finish();
}
