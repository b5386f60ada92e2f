/* ranks: 1 2 4 */
/* MPI 5.0 sections 9.2 and 12.2.1: memory of MPI_Alloc_mem may be used for windows, as a whole, in
 * parts and by several windows, and is freed after them. */
#include "check.h"

int main(int argc, char **argv)
{
    char *memory;
    MPI_Win first, second;
    MPI_Aint bytes = 1 << 16, half = bytes / 2;
    start(&argc, &argv);
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    CHECK_CALL(MPI_Alloc_mem(bytes, MPI_INFO_NULL, &memory));
    memset(memory, 0, (size_t)bytes);
    MPI_Win_create(memory, half, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &first);
    MPI_Win_create(memory + half, half, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &second);
    char *values = malloc((size_t)half), *got = malloc((size_t)half);
    memset(values, 1 + world_rank, (size_t)half);
    MPI_Win_fence(0, first);
    MPI_Win_fence(0, second);
    int add = 5;
    MPI_Put(values, (int)half, MPI_CHAR, right, 0, (int)half, MPI_CHAR, first);
    MPI_Accumulate(&add, 1, MPI_INT, right, 8, 1, MPI_INT, MPI_SUM, second);
    MPI_Win_fence(0, first);
    MPI_Win_fence(0, second);
    CHECK_INT(memory[0], 1 + left);
    CHECK_INT(memory[half - 1], 1 + left);
    CHECK_INT(memory[half], 0);
    CHECK_INT(*(int *)(memory + half + 8), 5);
    MPI_Get(got, (int)half, MPI_CHAR, right, 0, (int)half, MPI_CHAR, first);
    MPI_Win_fence(0, first);
    CHECK_BYTES(got, values, (size_t)half);
    MPI_Win_free(&first);
    MPI_Win_free(&second);
    CHECK_CALL(MPI_Free_mem(memory));
    free(values), free(got);
    return finish();
}
