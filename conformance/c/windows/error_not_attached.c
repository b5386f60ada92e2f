/* ranks: 1 2 */
/* skip-mpich: it does not look whether the memory is attached; the standard leaves that open */
/* MPI 5.0 sections 12.2.4 and 12.6.2: access to memory that is not attached is an error
 * (MPI_ERR_RMA_RANGE or MPI_ERR_RMA_ATTACH), as is attaching memory that overlaps what is attached
 * (MPI_ERR_RMA_ATTACH) and detaching twice; the memory keeps its value. */
#include "check.h"

static int is_refusal(int code)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    return class == MPI_ERR_RMA_RANGE || class == MPI_ERR_RMA_ATTACH;
}

int main(int argc, char **argv)
{
    static int data[4], outside[4] = {8, 8, 8, 8};
    int value = 6, values[2] = {6, 6}, code, end;
    MPI_Aint address[2];
    MPI_Win win;
    start(&argc, &argv);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    CHECK_CALL(MPI_Win_attach(win, data, sizeof data));
    CHECK(is_refusal(MPI_Win_attach(win, data + 1, sizeof(int))));
    MPI_Get_address(outside, &address[0]);
    MPI_Get_address(data, &address[1]);
    MPI_Bcast(address, 2, MPI_AINT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++) {
        /* Outside, and half over the end. */
        MPI_Aint at = i ? MPI_Aint_add(address[1], 3 * sizeof(int)) : address[0];
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        code = MPI_Put(values, 1 + i, MPI_INT, 0, at, 1 + i, MPI_INT, win);
        end = MPI_Win_unlock(0, win);
        CHECK(is_refusal(code) || (code == MPI_SUCCESS && is_refusal(end)));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_INT(outside[0], 8);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    CHECK_CALL(MPI_Put(&value, 1, MPI_INT, 0, address[1], 1, MPI_INT, win));
    CHECK_CALL(MPI_Win_unlock(0, win));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_Win_detach(win, data));
    CHECK(is_refusal(MPI_Win_detach(win, data)));
    CHECK(is_refusal(MPI_Win_detach(win, outside)));
    MPI_Win_free(&win);
    return finish();
}
