/* ranks: 1 2 3 */
/* MPI 5.0 section 12.2.4: a dynamic window begins without memory; memory attached by its owner is
 * addressed by the absolute address that MPI_Get_address gave there. MPI_WIN_BASE is MPI_BOTTOM,
 * the size 0, the unit 1. Detached memory may be attached again. */
#include "check.h"

int main(int argc, char **argv)
{
    int first[8], second[8], flag, *number;
    MPI_Aint mine[2], right[2], *size;
    void *base = &flag;
    MPI_Win win;
    start(&argc, &argv);
    int to = (world_rank + 1) % world_size, from = (world_rank + world_size - 1) % world_size;
    CHECK_CALL(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag);
    CHECK(flag == 1 && base == MPI_BOTTOM);
    MPI_Win_get_attr(win, MPI_WIN_SIZE, &size, &flag);
    CHECK(flag == 1 && *size == 0);
    MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &number, &flag);
    CHECK(flag == 1 && *number == 1);
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &number, &flag);
    CHECK(flag == 1 && *number == MPI_WIN_FLAVOR_DYNAMIC);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 8; i++) first[i] = second[i] = -1;
        CHECK_CALL(MPI_Win_attach(win, first, sizeof first));
        CHECK_CALL(MPI_Win_attach(win, second, sizeof second));
        MPI_Get_address(first, &mine[0]);
        MPI_Get_address(second, &mine[1]);
        MPI_Sendrecv(mine, 2, MPI_AINT, from, 0, right, 2, MPI_AINT, to, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        int value = 100 * world_rank + round, old = -5;
        MPI_Win_fence(0, win);
        MPI_Aint third = MPI_Aint_add(right[0], 3 * (MPI_Aint)sizeof(int));
        CHECK_CALL(MPI_Put(&value, 1, MPI_INT, to, third, 1, MPI_INT, win));
        CHECK_CALL(MPI_Accumulate(&value, 1, MPI_INT, to, right[1], 1, MPI_INT, MPI_SUM, win));
        MPI_Win_fence(0, win);
        CHECK_INT(first[3], 100 * from + round);
        CHECK_INT(second[0], 100 * from + round - 1);
        CHECK_INT(first[2], -1);
        MPI_Win_fence(0, win);
        MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win);
        CHECK_CALL(MPI_Fetch_and_op(&value, &old, MPI_INT, to, right[1], MPI_NO_OP, win));
        MPI_Win_unlock(to, win);
        CHECK_INT(old, 100 * world_rank + round - 1);
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK_CALL(MPI_Win_detach(win, first));
        CHECK_CALL(MPI_Win_detach(win, second));
    }
    CHECK_CALL(MPI_Win_free(&win));
    return finish();
}
