/* ranks: 1 2 */
/* MPI 5.0 sections 12.2.4 and 12.6.2: attach and detach are for dynamic windows
 * (MPI_ERR_RMA_FLAVOR), shared queries for the others; a negative size is MPI_ERR_SIZE. The window
 * works afterwards. */
#include "check.h"

int main(int argc, char **argv)
{
    int data[4] = {0}, other[4], value = 6, unit;
    MPI_Aint address, size;
    void *base;
    MPI_Win fixed, win;
    start(&argc, &argv);
    MPI_Win_create(data, sizeof data, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &fixed);
    MPI_Win_set_errhandler(fixed, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Win_attach(fixed, other, sizeof other), MPI_ERR_RMA_FLAVOR);
    CHECK_CLASS(MPI_Win_detach(fixed, other), MPI_ERR_RMA_FLAVOR);
    MPI_Win_free(&fixed);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Win_shared_query(win, 0, &size, &unit, &base), MPI_ERR_RMA_FLAVOR);
    CHECK_CLASS(MPI_Win_attach(win, other, -5), MPI_ERR_SIZE);
    CHECK_CALL(MPI_Win_attach(win, data, sizeof data));
    MPI_Get_address(data, &address);
    MPI_Bcast(&address, 1, MPI_AINT, 0, MPI_COMM_WORLD);
    MPI_Win_fence(0, win);
    if (world_rank == world_size - 1)
        CHECK_CALL(MPI_Put(&value, 1, MPI_INT, 0, address, 1, MPI_INT, win));
    MPI_Win_fence(0, win);
    if (world_rank == 0) CHECK_INT(data[0], 6);
    CHECK_CALL(MPI_Win_detach(win, data));
    MPI_Win_free(&win);
    return finish();
}
