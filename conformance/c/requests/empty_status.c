/* ranks: 1 */
/* MPI 5.0 section 3.7.3: waiting for or testing MPI_REQUEST_NULL returns at once with an empty status: source
 * MPI_ANY_SOURCE, tag MPI_ANY_TAG, count and elements 0, not cancelled. MPI_Waitall gives an empty status for every
 * null request. */
#include "check.h"

static void empty(const MPI_Status *status)
{
    int count = -1, elements = -1, cancelled = -1;
    CHECK_INT(status->MPI_SOURCE, MPI_ANY_SOURCE);
    CHECK_INT(status->MPI_TAG, MPI_ANY_TAG);
    MPI_Get_count(status, MPI_INT, &count);
    MPI_Get_elements(status, MPI_INT, &elements);
    MPI_Test_cancelled(status, &cancelled);
    CHECK_INT(count, 0);
    CHECK_INT(elements, 0);
    CHECK_INT(cancelled, 0);
}

int main(int argc, char **argv)
{
    MPI_Request null = MPI_REQUEST_NULL, list[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}, inactive;
    MPI_Status status, statuses[2];
    int flag = -1, data = 0;
    start(&argc, &argv);
    memset(&status, 0x55, sizeof status);
    CHECK_CALL(MPI_Wait(&null, &status));
    empty(&status);
    memset(&status, 0x55, sizeof status);
    CHECK_CALL(MPI_Test(&null, &flag, &status));
    CHECK_INT(flag, 1);
    empty(&status);
    memset(statuses, 0x55, sizeof statuses);
    CHECK_CALL(MPI_Waitall(2, list, statuses));
    empty(&statuses[0]);
    empty(&statuses[1]);
    memset(&status, 0x55, sizeof status);
    CHECK_CALL(MPI_Request_get_status(MPI_REQUEST_NULL, &flag, &status));
    CHECK_INT(flag, 1);
    empty(&status);

    MPI_Send_init(&data, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &inactive);
    memset(&status, 0x55, sizeof status);
    CHECK_CALL(MPI_Test(&inactive, &flag, &status));
    CHECK_INT(flag, 1);
    empty(&status);
    CHECK(inactive != MPI_REQUEST_NULL);
    memset(&status, 0x55, sizeof status);
    CHECK_CALL(MPI_Request_get_status(inactive, &flag, &status));
    CHECK_INT(flag, 1);
    empty(&status);
    MPI_Request_free(&inactive);
    return finish();
}
