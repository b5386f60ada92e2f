/* ranks: 1 2 */
/* MPI 5.0 sections 6.9.4 and 12.3: the types of value and index can be used wherever a datatype can; MPI_Put and MPI_Get
   of them move value and index. */
#include "check.h"

typedef struct { double value; int index; } DoubleInt;

int main(int argc, char **argv)
{
    DoubleInt *memory, one, got = {0, 0};
    MPI_Win win;
    start(&argc, &argv);
    int last = world_size - 1;
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    memory->value = 0;
    memory->index = 0;
    one.value = 2.5;
    one.index = 17;
    MPI_Win_fence(0, win);
    if (world_rank == 0) CHECK_CALL(MPI_Put(&one, 1, MPI_DOUBLE_INT, last, 0, 1, MPI_DOUBLE_INT, win));
    MPI_Win_fence(0, win);
    CHECK_CALL(MPI_Get(&got, 1, MPI_DOUBLE_INT, last, 0, 1, MPI_DOUBLE_INT, win));
    MPI_Win_fence(0, win);
    CHECK_DOUBLE(got.value, 2.5);
    CHECK_INT(got.index, 17);
    MPI_Win_free(&win);
    return finish();
}
