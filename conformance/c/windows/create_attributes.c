/* ranks: 1 2 3 */
/* MPI 5.0 section 12.2.6: every window has the attributes MPI_WIN_BASE (the address itself),
 * MPI_WIN_SIZE (an MPI_Aint), MPI_WIN_DISP_UNIT, MPI_WIN_CREATE_FLAVOR and MPI_WIN_MODEL (ints).
 * Size, unit and address are those that this process gave, and processes may differ in all. */
#include "check.h"

static void *attribute(MPI_Win win, int key)
{
    void *value = NULL;
    int flag = 0;
    CHECK_CALL(MPI_Win_get_attr(win, key, &value, &flag));
    CHECK_INT(flag, 1);
    return value;
}

int main(int argc, char **argv)
{
    static char memory[300];
    start(&argc, &argv);
    for (int kind = 0; kind < 2; kind++) {
        MPI_Aint size = 100 * world_rank;
        int unit = 1 << world_rank;
        void *base = size ? memory : NULL;
        MPI_Win win = MPI_WIN_NULL;
        if (kind == 0)
            CHECK_CALL(MPI_Win_create(base, size, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        else
            CHECK_CALL(MPI_Win_allocate(size, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
        CHECK(win != MPI_WIN_NULL);
        if (size > 0) CHECK(attribute(win, MPI_WIN_BASE) == base);
        CHECK_INT(*(MPI_Aint *)attribute(win, MPI_WIN_SIZE), size);
        CHECK_INT(*(int *)attribute(win, MPI_WIN_DISP_UNIT), unit);
        CHECK_INT(*(int *)attribute(win, MPI_WIN_CREATE_FLAVOR),
                  kind == 0 ? MPI_WIN_FLAVOR_CREATE : MPI_WIN_FLAVOR_ALLOCATE);
        int model = *(int *)attribute(win, MPI_WIN_MODEL);
        CHECK(model == MPI_WIN_UNIFIED || model == MPI_WIN_SEPARATE);
        CHECK_CALL(MPI_Win_free(&win));
        CHECK(win == MPI_WIN_NULL);
    }
    return finish();
}
