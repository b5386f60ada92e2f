/* ranks: 1 2 */
/* MPI 5.0 sections 12.2 and 12.6.2: a negative size is MPI_ERR_SIZE, a unit that is not positive is
 * MPI_ERR_DISP or MPI_ERR_ARG, no communicator is MPI_ERR_COMM; these errors are raised on the
 * communicator. */
#include "check.h"

int main(int argc, char **argv)
{
    int data = 0, *base, class = 0;
    MPI_Win win = MPI_WIN_NULL;
    start(&argc, &argv);
    errors_return();
    CHECK_CLASS(MPI_Win_create(&data, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_SIZE);
    CHECK_CLASS(MPI_Win_allocate(-1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), MPI_ERR_SIZE);
    MPI_Error_class(MPI_Win_create(&data, 4, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &win), &class);
    CHECK(class == MPI_ERR_DISP || class == MPI_ERR_ARG);
    MPI_Error_class(MPI_Win_allocate(4, -3, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), &class);
    CHECK(class == MPI_ERR_DISP || class == MPI_ERR_ARG);
    CHECK_CLASS(MPI_Win_create(&data, 4, 1, MPI_INFO_NULL, MPI_COMM_NULL, &win), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_NULL, &win), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Win_create(&data, 4, 1, MPI_INFO_NULL, MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
    CHECK_CALL(MPI_Win_create(&data, 4, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    CHECK_CALL(MPI_Win_free(&win));
    return finish();
}
