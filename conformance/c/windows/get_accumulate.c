/* ranks: 1 2 4 */
/* MPI 5.0 section 12.3.4: get_accumulate gives each element's value before its own contribution.
 * With all ranks adding 1 to each element, the fetched values of an element are 0 to n-1, each seen
 * once: their sum over the ranks is fixed although the order is not. */
#include "check.h"

enum { COUNT = 300 };

int main(int argc, char **argv)
{
    start(&argc, &argv);
    for (int kind = 0; kind < 2; kind++) {
        static long own[COUNT];
        long *base = own, ones[COUNT], got[COUNT], sum[COUNT];
        MPI_Win win;
        if (kind == 0)
            MPI_Win_create(own, sizeof own, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        else
            MPI_Win_allocate(sizeof own, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        for (int i = 0; i < COUNT; i++) base[i] = 0, ones[i] = 1, got[i] = -1;
        for (int root = 0; root < world_size; root++) {
            MPI_Win_fence(0, win);
            CHECK_CALL(MPI_Get_accumulate(ones, COUNT, MPI_LONG, got, COUNT, MPI_LONG, root, 0,
                                          COUNT, MPI_LONG, MPI_SUM, win));
            MPI_Win_fence(0, win);
            MPI_Allreduce(got, sum, COUNT, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
            for (int i = 0; i < COUNT; i++) {
                CHECK_INT(sum[i], world_size * (world_size - 1) / 2);
                if (world_rank == root) CHECK_INT(base[i], world_size);
            }
        }
        MPI_Win_free(&win);
    }
    return finish();
}
