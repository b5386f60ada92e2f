/* ranks: 2 */
/* MPI 5.0 section 3.8.2: a matched probe takes the message out of matching, so a later receive with wildcards cannot
 * get it; only MPI_Mrecv or MPI_Imrecv with its handle can. From MPI_PROC_NULL the handle is MPI_MESSAGE_NO_PROC and
 * the status that of a receive from MPI_PROC_NULL. Both receives set the handle to MPI_MESSAGE_NULL. */
#include "check.h"

int main(int argc, char **argv)
{
    int data = 0, count = -1, flag = -1;
    MPI_Message message = MPI_MESSAGE_NULL, second = MPI_MESSAGE_NULL;
    MPI_Request request;
    MPI_Status status;
    start(&argc, &argv);
    if (world_rank == 0) {
        for (data = 1; data <= 3; data++) MPI_Send(&data, 1, MPI_INT, 1, 8, MPI_COMM_WORLD);
    } else {
        CHECK_CALL(MPI_Mprobe(0, 8, MPI_COMM_WORLD, &message, &status));
        CHECK(message != MPI_MESSAGE_NULL && message != MPI_MESSAGE_NO_PROC);
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK_INT(count, 1);
        MPI_Recv(&data, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_INT(data, 2);
        do MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &second, &status);
        while (!flag);
        CHECK_CALL(MPI_Imrecv(&data, 1, MPI_INT, &second, &request));
        CHECK(second == MPI_MESSAGE_NULL);
        MPI_Wait(&request, &status);
        CHECK_INT(data, 3);
        CHECK_INT(status.MPI_TAG, 8);
        CHECK_CALL(MPI_Mrecv(&data, 1, MPI_INT, &message, &status));
        CHECK(message == MPI_MESSAGE_NULL);
        CHECK_INT(data, 1);
        CHECK_INT(status.MPI_SOURCE, 0);
        MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &second, &status);
        CHECK_INT(flag, 0);
    }
    MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &message, &status);
    CHECK(message == MPI_MESSAGE_NO_PROC);
    CHECK_INT(status.MPI_SOURCE, MPI_PROC_NULL);
    CHECK_INT(status.MPI_TAG, MPI_ANY_TAG);
    data = 77;
    MPI_Mrecv(&data, 1, MPI_INT, &message, &status);
    CHECK(message == MPI_MESSAGE_NULL);
    CHECK_INT(data, 77);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK_INT(count, 0);
    return finish();
}
