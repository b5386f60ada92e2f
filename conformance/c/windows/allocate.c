/* ranks: 1 2 4 */
/* MPI 5.0 section 12.2.2: MPI_Win_allocate gives each process memory of at least the size it asked
 * for, aligned for elements of its unit, and MPI_Win_free frees it. Sizes may differ or be 0. */
#include "check.h"
#include <stdint.h>

int main(int argc, char **argv)
{
    start(&argc, &argv);
    for (int round = 0; round < 20; round++) {
        int64_t *base = NULL;
        MPI_Win win;
        MPI_Aint count = world_rank == 0 ? 0 : 1000 * world_rank + round;
        MPI_Aint size = count * (MPI_Aint)sizeof *base;
        CHECK_CALL(
            MPI_Win_allocate(size, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
        if (count > 0) {
            CHECK(base != NULL);
            CHECK_INT((uintptr_t)base % sizeof *base, 0);
        }
        for (MPI_Aint i = 0; i < count; i++) base[i] = -1;
        MPI_Win_fence(0, win);
        int right = (world_rank + 1) % world_size;
        if (right != 0) {
            MPI_Aint last = 1000 * right + round - 1;
            int64_t value = 100 * world_rank + round;
            CHECK_CALL(MPI_Put(&value, 1, MPI_INT64_T, right, last, 1, MPI_INT64_T, win));
            MPI_Win_fence(0, win);
        } else {
            MPI_Win_fence(0, win);
        }
        if (count > 0) {
            CHECK_INT(base[count - 1], 100 * (world_rank - 1) + round);
            CHECK_INT(base[count - 2], -1);
            CHECK_INT(base[0], -1);
        }
        CHECK_CALL(MPI_Win_free(&win));
    }
    return finish();
}
