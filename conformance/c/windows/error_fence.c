/* ranks: 1 2 4 */
/* skip-mpich: it does not look what is attached; the standard leaves that open */
/* MPI 5.0 sections 12.5.1 and 12.6: an operation that the target could not do is an error of its
 * origin, from the call or from the fence that completes it. It is a fence for all ranks all the
 * same, and the window works afterwards. */
#include "check.h"

int main(int argc, char **argv)
{
    static int data[8];
    int value[2] = {5, 6}, got[2] = {-1, -1};
    MPI_Aint address;
    MPI_Win win;
    start(&argc, &argv);
    int last = world_size - 1;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    CHECK_CALL(MPI_Win_attach(win, data, 2 * sizeof(int)));
    MPI_Get_address(data, &address);
    MPI_Bcast(&address, 1, MPI_AINT, last, MPI_COMM_WORLD);
    for (int round = 0; round < 10; round++) {
        int put = MPI_SUCCESS, get = MPI_SUCCESS, end, class;
        CHECK_CALL(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
        if (world_rank == 0) {
            put = MPI_Put(value, 2, MPI_INT, last, address + sizeof(int), 2, MPI_INT, win);
            get = MPI_Get(got, 2, MPI_INT, last, address + sizeof(int), 2, MPI_INT, win);
        }
        end = MPI_Win_fence(0, win);
        if (world_rank == 0) {
            MPI_Error_class(put != MPI_SUCCESS ? put : end, &class);
            CHECK_INT(class, MPI_ERR_RMA_RANGE);
            MPI_Error_class(get != MPI_SUCCESS ? get : end, &class);
            CHECK_INT(class, MPI_ERR_RMA_RANGE);
        } else {
            CHECK_INT(end, MPI_SUCCESS);
        }
        CHECK(data[0] == (world_rank == last ? round : 0) && data[1] == 0);
        CHECK_CALL(MPI_Win_fence(0, win));
        value[0] = round + 1;
        if (world_rank == 0)
            CHECK_CALL(MPI_Put(value, 1, MPI_INT, last, address, 1, MPI_INT, win));
        CHECK_CALL(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        CHECK_INT(data[0], world_rank == last ? round + 1 : 0);
    }
    CHECK_CALL(MPI_Win_free(&win));
    return finish();
}
