/* ranks: 1 */
/* MPI 5.0 section 13.2: an error code that query_fn returns is passed back by the call that invoked it: as the return
 * value of MPI_Wait. */
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
    int bad = MPI_ERR_NAME;
    MPI_Request request;
    MPI_Status status;
    start(&argc, &argv);
    errors_return();
    MPI_Grequest_start(query, release, cancel, &bad, &request);
    MPI_Grequest_complete(request);
    CHECK_CLASS(MPI_Wait(&request, &status), MPI_ERR_NAME);
    CHECK_INT(freed, 1);
    CHECK(request == MPI_REQUEST_NULL);
    return finish();
}
