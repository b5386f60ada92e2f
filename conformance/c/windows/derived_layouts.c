/* ranks: 1 2 3 */
/* MPI 5.0 section 12.3.1: origin and target datatypes may differ in layout as long as they hold the
 * same elements; the target datatype is laid out at the target, with displacements counted there.
 * The transfer is as a send with the one type and a receive with the other. */
#include "check.h"

enum { SIDE = 6 };

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    MPI_Datatype column, spaced, resized, inner;
    MPI_Type_vector(SIDE, 1, SIDE, MPI_INT, &column);
    int lengths[3] = {1, 2, 3}, places[3] = {10, 0, 5};
    MPI_Type_indexed(3, lengths, places, MPI_INT, &spaced);
    MPI_Type_create_resized(column, 0, sizeof(int), &resized);
    int sizes[2] = {SIDE, SIDE}, part[2] = {2, 3}, from[2] = {3, 1};
    MPI_Type_create_subarray(2, sizes, part, from, MPI_ORDER_C, MPI_INT, &inner);
    MPI_Type_commit(&column), MPI_Type_commit(&spaced);
    MPI_Type_commit(&resized), MPI_Type_commit(&inner);
    for (int kind = 0; kind < 2; kind++) {
        int own[SIDE * SIDE], *base = own, matrix[SIDE * SIDE], got[SIDE * SIDE];
        MPI_Win win;
        if (kind == 0)
            MPI_Win_create(own, sizeof own, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        else
            MPI_Win_allocate(sizeof own, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        for (int i = 0; i < SIDE * SIDE; i++) matrix[i] = 100 * world_rank + i, base[i] = -1;
        MPI_Win_fence(0, win);
        /* Columns into rows: a transposition. */
        MPI_Put(matrix, SIDE, resized, right, 0, SIDE * SIDE, MPI_INT, win);
        MPI_Win_fence(0, win);
        for (int i = 0; i < SIDE * SIDE; i++)
            CHECK_INT(base[i], 100 * left + i % SIDE * SIDE + i / SIDE);
        /* One column to scattered places. */
        MPI_Win_fence(0, win);
        MPI_Put(&matrix[2], 1, column, right, 1, 1, spaced, win);
        MPI_Win_fence(0, win);
        for (int i = 0; i < SIDE; i++) {
            static const int place[SIDE] = {11, 1, 2, 6, 7, 8};
            CHECK_INT(base[place[i]], 100 * left + SIDE * i + 2);
        }
        /* Back, into a part of an array. */
        for (int i = 0; i < SIDE * SIDE; i++) got[i] = -9;
        MPI_Win_fence(0, win);
        MPI_Get(got, 1, inner, right, 1, 1, spaced, win);
        MPI_Win_fence(0, win);
        for (int i = 0; i < SIDE; i++)
            CHECK_INT(got[(3 + i / 3) * SIDE + 1 + i % 3], 100 * world_rank + SIDE * i + 2);
        CHECK_INT(got[0], -9);
        CHECK_INT(got[3 * SIDE], -9);
        MPI_Win_free(&win);
    }
    MPI_Type_free(&column), MPI_Type_free(&spaced);
    MPI_Type_free(&resized), MPI_Type_free(&inner);
    return finish();
}
