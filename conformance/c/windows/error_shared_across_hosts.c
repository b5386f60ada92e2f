/* ranks: 2 4 */
/* MPI 5.0 sections 12.2.3 and 12.6.2: MPI_Win_allocate_shared is for processes that can share
 * memory; for others it fails with MPI_ERR_RMA_SHARED on the communicator. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Comm host;
    MPI_Win win;
    char *base;
    int size;
    start(&argc, &argv);
    errors_return();
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &size);
    int code = MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    if (size == world_size) {
        CHECK_CALL(code);
        MPI_Win_free(&win);
    } else {
        CHECK_CLASS(code, MPI_ERR_RMA_SHARED);
    }
    CHECK_CALL(MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, host, &base, &win));
    MPI_Win_free(&win);
    MPI_Comm_free(&host);
    return finish();
}
