/* ranks: 1 2 3 4 */
/* MPI 5.0 section 6.9.6: the same result on all processes, separate and in place, for none, few and many elements. */
#include "check.h"

int main(int argc, char **argv)
{
    static const int sizes[] = {0, 1, 3, 2048, 100000};
    static double in[100000], out[100000];
    start(&argc, &argv);
    for (int k = 0; k < 5; k++) {
        int wrong = 0;
        for (int i = 0; i < sizes[k]; i++) in[i] = world_rank + i;
        CHECK_CALL(MPI_Allreduce(in, out, sizes[k], MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
        for (int i = 0; i < sizes[k]; i++) wrong += out[i] != world_size * (world_size - 1) / 2 + (double)i * world_size;
        CHECK_CALL(MPI_Allreduce(MPI_IN_PLACE, in, sizes[k], MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD));
        for (int i = 0; i < sizes[k]; i++) wrong += in[i] != i;
        CHECK_INT(wrong, 0);
    }
    return finish();
}
