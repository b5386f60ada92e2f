/* ranks: 1 2 3 4 */
/* MPI 5.0 section 6.8: block j sent by rank i becomes block i of rank j, small and large, and in place. */
#include "check.h"

int main(int argc, char **argv)
{
    static int out[4 * 20000], in[4 * 20000];
    static const int counts[] = {1, 3, 20000};
    start(&argc, &argv);
    for (int k = 0; k < 3; k++) {
        int count = counts[k], wrong = 0;
        for (int i = 0; i < count * world_size; i++) out[i] = 100000 * world_rank + i;
        CHECK_CALL(MPI_Alltoall(out, count, MPI_INT, in, count, MPI_INT, MPI_COMM_WORLD));
        for (int i = 0; i < count * world_size; i++) wrong += in[i] != 100000 * (i / count) + count * world_rank + i % count;
        CHECK_INT(wrong, 0);
        CHECK_CALL(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, count, MPI_INT, MPI_COMM_WORLD));
        for (int i = 0; i < count * world_size; i++) wrong += out[i] != in[i];
        CHECK_INT(wrong, 0);
    }
    return finish();
}
