/* ranks: 2 */
/* MPI 5.0 section 2.5.8: the _c functions take MPI_Count where the others take int and otherwise mean the same; a
 * message sent with one face may be received with the other. */
#include "check.h"

int main(int argc, char **argv)
{
    int data[6] = {1, 2, 3, 4, 5, 6}, plain = -1;
    MPI_Count count = -1;
    MPI_Status status;
    MPI_Request request;
    start(&argc, &argv);
    if (world_rank == 0) {
        CHECK_CALL(MPI_Send_c(data, 6, MPI_INT, 1, 0, MPI_COMM_WORLD));
        CHECK_CALL(MPI_Send(data, 6, MPI_INT, 1, 1, MPI_COMM_WORLD));
        CHECK_CALL(MPI_Isend_c(data, (MPI_Count)6, MPI_INT, 1, 2, MPI_COMM_WORLD, &request));
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        memset(data, 0, sizeof data);
        CHECK_CALL(MPI_Recv(data, 6, MPI_INT, 0, 0, MPI_COMM_WORLD, &status));
        CHECK_CALL(MPI_Get_count_c(&status, MPI_INT, &count));
        CHECK_INT(count, 6);
        CHECK_INT(data[5], 6);
        CHECK_CALL(MPI_Recv_c(data, 6, MPI_INT, 0, 1, MPI_COMM_WORLD, &status));
        CHECK_CALL(MPI_Get_count(&status, MPI_INT, &plain));
        CHECK_INT(plain, 6);
        CHECK_CALL(MPI_Irecv_c(data, 6, MPI_INT, 0, 2, MPI_COMM_WORLD, &request));
        MPI_Wait(&request, &status);
        MPI_Get_count_c(&status, MPI_BYTE, &count);
        CHECK_INT(count, 6 * sizeof(int));
    }
    return finish();
}
