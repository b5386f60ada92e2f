/* ranks: 1 2 */
/* MPI 5.0 sections 6.2 and 9.4: the root of a collective on an intracommunicator is a rank of it; anything else is
 * MPI_ERR_ROOT, found before anything is sent. */
#include "check.h"

int main(int argc, char **argv)
{
    int data = 0, out[4] = {0};
    MPI_Request request;
    start(&argc, &argv);
    errors_return();
    CHECK_CLASS(MPI_Bcast(&data, 1, MPI_INT, world_size, MPI_COMM_WORLD), MPI_ERR_ROOT);
    CHECK_CLASS(MPI_Bcast(&data, 1, MPI_INT, -1, MPI_COMM_WORLD), MPI_ERR_ROOT);
    CHECK_CLASS(MPI_Gather(&data, 1, MPI_INT, out, 1, MPI_INT, world_size, MPI_COMM_WORLD), MPI_ERR_ROOT);
    CHECK_CLASS(MPI_Scatter(out, 1, MPI_INT, &data, 1, MPI_INT, -2, MPI_COMM_WORLD), MPI_ERR_ROOT);
    CHECK_CLASS(MPI_Reduce(&data, out, 1, MPI_INT, MPI_SUM, world_size, MPI_COMM_WORLD), MPI_ERR_ROOT);
    CHECK_CLASS(MPI_Ibcast(&data, 1, MPI_INT, world_size, MPI_COMM_WORLD, &request), MPI_ERR_ROOT);
    CHECK_CALL(MPI_Bcast(&data, 1, MPI_INT, 0, MPI_COMM_WORLD));
    return finish();
}
