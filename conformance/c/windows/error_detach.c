/* ranks: 1 2 */
/* skip-mpich: it does not look what is under way; the standard leaves that open */
/* MPI 5.0 sections 12.2.4 and 12.6.2: memory is detached when nobody uses it. While the data of a put is on its way a
 * library may refuse (MPI_ERR_RMA_ATTACH); then the memory stays attached, the put arrives, and it can be detached
 * afterwards. Whatever the order, a put after the detach is refused and touches nothing. */
#include "check.h"

#define COUNT (1 << 20)

int main(int argc, char **argv)
{
    static int data[COUNT];
    int *values = calloc(COUNT, sizeof(int)), code, class, length = 0, attached = 1;
    char text[MPI_MAX_ERROR_STRING] = "";
    MPI_Aint address;
    MPI_Win win;
    start(&argc, &argv);
    int last = world_size - 1;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    CHECK_CALL(MPI_Win_attach(win, data, sizeof data));
    MPI_Get_address(data, &address);
    MPI_Bcast(&address, 1, MPI_AINT, last, MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; i++) values[i] = i + 1;
    for (int round = 0; round < 20; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        code = MPI_SUCCESS;
        if (world_rank == 0) {
            CHECK_CALL(MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win));
            CHECK_CALL(MPI_Put(values, COUNT, MPI_INT, last, address, COUNT, MPI_INT, win));
        }
        if (world_rank == last) {
            /* The put has not begun, is under way, or is over. */
            code = MPI_Win_detach(win, data);
            MPI_Error_class(code, &class);
            CHECK(class == MPI_SUCCESS || class == MPI_ERR_RMA_ATTACH);
            attached = class != MPI_SUCCESS;
            if (attached) {
                MPI_Error_string(code, text, &length);
                CHECK(length > 0);
            }
        }
        if (world_rank == 0) {
            code = MPI_Win_unlock(last, win);
            MPI_Error_class(code, &class);
            CHECK(class == MPI_SUCCESS || class == MPI_ERR_RMA_RANGE || class == MPI_ERR_RMA_ATTACH);
        }
        MPI_Bcast(&class, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (world_rank == last) {
            /* All of the data, or none of it. */
            CHECK_INT(data[0], class == MPI_SUCCESS ? 1 : 0);
            CHECK_INT(data[COUNT - 1], class == MPI_SUCCESS ? COUNT : 0);
            memset(data, 0, sizeof data);
            if (attached) {
                CHECK_INT(class, MPI_SUCCESS);
                CHECK_CALL(MPI_Win_detach(win, data));
            }
            CHECK_CLASS(MPI_Win_detach(win, data), MPI_ERR_RMA_ATTACH);
            CHECK_CALL(MPI_Win_attach(win, data, sizeof data));
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    free(values);
    return finish();
}
