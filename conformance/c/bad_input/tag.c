/* ranks: 1 */
/* MPI 5.0 sections 3.2.3 and 9.4: tags below 0 or above MPI_TAG_UB are MPI_ERR_TAG; MPI_ANY_TAG is for receives alone. */
#include "check.h"

int main(int argc, char **argv)
{
    int data = 0, flag = 0, *bound = NULL;
    MPI_Request request;
    start(&argc, &argv);
    errors_return();
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &flag);
    CHECK_INT(flag, 1);
    CHECK_CLASS(MPI_Send(&data, 1, MPI_INT, 0, -5, MPI_COMM_WORLD), MPI_ERR_TAG);
    CHECK_CLASS(MPI_Send(&data, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD), MPI_ERR_TAG);
    CHECK_CLASS(MPI_Recv(&data, 1, MPI_INT, 0, -5, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_TAG);
    CHECK_CLASS(MPI_Probe(0, -5, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_TAG);
    if (*bound < 2147483647) {
        CHECK_CLASS(MPI_Send(&data, 1, MPI_INT, 0, *bound + 1, MPI_COMM_WORLD), MPI_ERR_TAG);
        CHECK_CLASS(MPI_Irecv(&data, 1, MPI_INT, 0, *bound + 1, MPI_COMM_WORLD, &request), MPI_ERR_TAG);
        CHECK_CLASS(MPI_Recv_init(&data, 1, MPI_INT, 0, *bound + 1, MPI_COMM_WORLD, &request), MPI_ERR_TAG);
    }
    return finish();
}
