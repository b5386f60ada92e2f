/* ranks: 1 */
/* skip-mpich: it accepts a negative count or crashes on it */
/* MPI 5.0 sections 6.9 and 9.4: the count of a reduction is not negative either: MPI_ERR_COUNT. */
#include "check.h"

int main(int argc, char **argv)
{
    int data = 0, other = 0;
    MPI_Request request;
    start(&argc, &argv);
    errors_return();
    CHECK_CLASS(MPI_Allreduce(MPI_IN_PLACE, &data, -1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Iallreduce(&data, &other, -1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Reduce_local(&data, &other, -1, MPI_INT, MPI_SUM), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Scan(&data, &other, -1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_COUNT);
    return finish();
}
