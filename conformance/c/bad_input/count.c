/* ranks: 1 */
/* MPI 5.0 section 9.4: a negative count is MPI_ERR_COUNT, in messages, collectives, constructors and packing alike. */
#include "check.h"

int main(int argc, char **argv)
{
    int data = 0, position = 0;
    char packed[16];
    MPI_Datatype type;
    MPI_Request request;
    start(&argc, &argv);
    errors_return();
    CHECK_CLASS(MPI_Send(&data, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Recv(&data, -1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Isend(&data, -2, MPI_INT, 0, 0, MPI_COMM_WORLD, &request), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Irecv_c(&data, -2, MPI_INT, 0, 0, MPI_COMM_WORLD, &request), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Send_init(&data, -2, MPI_INT, 0, 0, MPI_COMM_WORLD, &request), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Bcast(&data, -1, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Type_contiguous(-1, MPI_INT, &type), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Type_vector(-1, 1, 1, MPI_INT, &type), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Pack(&data, -1, MPI_INT, packed, 16, &position, MPI_COMM_WORLD), MPI_ERR_COUNT);
    return finish();
}
