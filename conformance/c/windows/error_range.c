/* ranks: 1 2 */
/* skip-mpich: it does not look at the bounds of the window; the standard leaves that open */
/* MPI 5.0 section 12.6.2: access beyond the target's window is MPI_ERR_RMA_RANGE or MPI_ERR_DISP,
 * from the call or from the one that ends the epoch; no memory is touched and the window works
 * afterwards. */
#include "check.h"

static int is_range(int code)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    return class == MPI_ERR_RMA_RANGE || class == MPI_ERR_DISP;
}

#define REFUSED(call)                                                                              \
    do {                                                                                           \
        MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win);                                               \
        int code = (call), end = MPI_Win_unlock(last, win);                                        \
        CHECK(is_range(code) || (code == MPI_SUCCESS && is_range(end)));                           \
    } while (0)

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int last = world_size - 1;
    for (int kind = 0; kind < 2; kind++) {
        int own[6] = {1, 2, 3, 4, 5, 6}, *base = own + 1, value[4] = {7, 7, 7, 7}, got[4];
        MPI_Aint bytes = 4 * sizeof(int);
        MPI_Win win;
        if (kind == 0)
            MPI_Win_create(own + 1, bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        else
            MPI_Win_allocate(bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        for (int i = 0; i < 4; i++) base[i] = 2 + i;
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        MPI_Barrier(MPI_COMM_WORLD);
        REFUSED(MPI_Put(value, 1, MPI_INT, last, 4, 1, MPI_INT, win));
        REFUSED(MPI_Put(value, 4, MPI_INT, last, 1, 4, MPI_INT, win));
        REFUSED(MPI_Put(value, 1, MPI_INT, last, -1, 1, MPI_INT, win));
        REFUSED(MPI_Get(got, 4, MPI_INT, last, 2, 4, MPI_INT, win));
        REFUSED(MPI_Accumulate(value, 1, MPI_INT, last, 1000000, 1, MPI_INT, MPI_SUM, win));
        REFUSED(MPI_Fetch_and_op(value, got, MPI_INT, last, 4, MPI_SUM, win));
        REFUSED(MPI_Compare_and_swap(value, value, got, MPI_INT, last, -1, win));
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win);
        CHECK_CALL(MPI_Get(got, 4, MPI_INT, last, 0, 4, MPI_INT, win));
        CHECK_CALL(MPI_Win_unlock(last, win));
        for (int i = 0; i < 4; i++) CHECK_INT(got[i], 2 + i);
        CHECK_INT(own[0], 1);
        CHECK_INT(own[5], 6);
        MPI_Win_free(&win);
    }
    return finish();
}
