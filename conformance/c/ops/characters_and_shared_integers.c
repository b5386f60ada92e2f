/* ranks: 1 3 */
/* Beyond the table of MPI 5.0 section 6.9.2, programs reduce MPI_CHAR as the integer that it is in C, and ask for truth in
 * MPI_AINT, MPI_COUNT and MPI_OFFSET; other libraries take both. */
#include "check.h"

int main(int argc, char **argv)
{
    char letter, sum, largest, smallest;
    MPI_Datatype wide[] = {MPI_AINT, MPI_COUNT, MPI_OFFSET};
    start(&argc, &argv);
    letter = (char)(world_rank + 1);
    CHECK_CALL(MPI_Allreduce(&letter, &sum, 1, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD));
    CHECK_CALL(MPI_Allreduce(&letter, &largest, 1, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD));
    CHECK_CALL(MPI_Allreduce(&letter, &smallest, 1, MPI_CHAR, MPI_MIN, MPI_COMM_WORLD));
    CHECK_INT(sum, world_size * (world_size + 1) / 2);
    CHECK_INT(largest, world_size);
    CHECK_INT(smallest, 1);
    for (int i = 0; i < 3; i++) {
        MPI_Count value = world_rank == 0 ? 0 : 1ll << 40, all = 7, any = 7, odd = 7;
        CHECK_CALL(MPI_Allreduce(&value, &all, 1, wide[i], MPI_LAND, MPI_COMM_WORLD));
        CHECK_CALL(MPI_Allreduce(&value, &any, 1, wide[i], MPI_LOR, MPI_COMM_WORLD));
        CHECK_CALL(MPI_Allreduce(&value, &odd, 1, wide[i], MPI_LXOR, MPI_COMM_WORLD));
        CHECK_INT(all, 0);
        CHECK_INT(any, world_size > 1);
        CHECK_INT(odd, (world_size - 1) % 2);
    }
    return finish();
}
