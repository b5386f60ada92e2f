/* ranks: 1 */
/* MPI 5.0 section 13.2: generalized requests mix with others in the list calls. An error code from query_fn makes that
 * request's MPI_ERROR an error and MPI_Waitall return MPI_ERR_IN_STATUS; free_fn runs all the same. */
#include "check.h"

static int freed = 0;

static int query(void *state, MPI_Status *status)
{
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return *(int *)state;
}

static int release(void *state)
{
    (void)state;
    freed++;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int good = MPI_SUCCESS, bad = MPI_ERR_NAME, in = -1, out = 4;
    MPI_Request requests[4];
    MPI_Status statuses[4];
    start(&argc, &argv);
    errors_return();
    MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[0]);
    MPI_Grequest_start(query, release, cancel, &good, &requests[1]);
    MPI_Isend(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[2]);
    MPI_Grequest_start(query, release, cancel, &bad, &requests[3]);
    MPI_Grequest_complete(requests[1]);
    MPI_Grequest_complete(requests[3]);
    CHECK_CLASS(MPI_Waitall(4, requests, statuses), MPI_ERR_IN_STATUS);
    CHECK(statuses[3].MPI_ERROR != MPI_SUCCESS);
    CHECK_INT(statuses[1].MPI_ERROR, MPI_SUCCESS);
    CHECK_INT(freed, 2);
    CHECK_INT(in, 4);
    return finish();
}
