/* ranks: 2 */
/* MPI 5.0 sections 3.2.5, 3.7.3 and 3.7.5: a receive whose message is longer than its buffer ends with MPI_ERR_TRUNCATE.
 * It has been matched, so its status names source and tag of the message: a program that waits for many can tell which
 * one was too long. */
#include "check.h"

enum { LONG = 4, SHORT = 2, CALLS = 7 };

static int in[SHORT];

/* Ends one receive by each call that gives a status. */
static int end(int call, MPI_Request *request, MPI_Status *status)
{
    int flag = 0, index, count = 0, code = MPI_SUCCESS;
    switch (call) {
    case 0: return MPI_Wait(request, status);
    case 1: return MPI_Waitall(1, request, status);
    case 2: return MPI_Waitany(1, request, &index, status);
    case 3: return MPI_Waitsome(1, request, &count, &index, status);
    case 4: while (!flag && code == MPI_SUCCESS) code = MPI_Test(request, &flag, status); return code;
    case 5: while (!flag && code == MPI_SUCCESS) code = MPI_Testall(1, request, &flag, status); return code;
    default: while (!count && code == MPI_SUCCESS) code = MPI_Testsome(1, request, &count, &index, status); return code;
    }
}

static void check(int tag, int code, int several, const MPI_Status *status)
{
    int class = -1;
    MPI_Error_class(code, &class);
    if (several) {
        CHECK_INT(class, MPI_ERR_IN_STATUS);
        MPI_Error_class(status->MPI_ERROR, &class);
    }
    CHECK_INT(class, MPI_ERR_TRUNCATE);
    CHECK_INT(status->MPI_SOURCE, 0);
    CHECK_INT(status->MPI_TAG, tag);
}

int main(int argc, char **argv)
{
    int data[LONG] = {1, 2, 3, 4};
    MPI_Request request;
    MPI_Status status;
    start(&argc, &argv);
    errors_return();
    for (int call = 0; call < CALLS; call++) {
        int several = call == 1 || call == 3 || call >= 5;
        if (world_rank == 0) {
            MPI_Send(data, LONG, MPI_INT, 1, 40 + call, MPI_COMM_WORLD);
            continue;
        }
        memset(&status, 0x55, sizeof status);
        MPI_Irecv(in, SHORT, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
        check(40 + call, end(call, &request, &status), several, &status);
    }
    if (world_rank == 0) {
        MPI_Send(data, LONG, MPI_INT, 1, 60, MPI_COMM_WORLD);
    } else {
        memset(&status, 0x55, sizeof status);
        int code = MPI_Recv(in, SHORT, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        check(60, code, 0, &status);
    }
    return finish();
}
