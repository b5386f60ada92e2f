/* ranks: 1 */
/* threads */
/* MPI 5.0 section 13.2: a generalized request completes when MPI_Grequest_complete is called; the wait that sees it
 * calls query_fn for the status and then free_fn, once. query_fn's count and cancelled flag show up in the status, and
 * cancel_fn is told whether the request was complete. */
#include "check.h"
#include <pthread.h>

static int queried = 0, freed = 0, cancelled_complete = -1;

static int query(void *state, MPI_Status *status)
{
    queried++;
    status->MPI_SOURCE = 5;
    status->MPI_TAG = *(int *)state;
    MPI_Status_set_elements(status, MPI_INT, 3);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int release(void *state)
{
    freed++;
    *(int *)state = -1;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state;
    cancelled_complete = complete;
    return MPI_SUCCESS;
}

static void *later(void *request)
{
    MPI_Grequest_complete(*(MPI_Request *)request);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, state = 17, flag = -1, count = -1;
    pthread_t thread;
    MPI_Request request, copy;
    MPI_Status status;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    started();
    CHECK_CALL(MPI_Grequest_start(query, release, cancel, &state, &request));
    CHECK_CALL(MPI_Test(&request, &flag, &status));
    CHECK_INT(flag, 0);
    CHECK_CALL(MPI_Cancel(&request));
    CHECK_INT(cancelled_complete, 0);
    copy = request;
    pthread_create(&thread, NULL, later, &copy);
    CHECK_CALL(MPI_Wait(&request, &status));
    pthread_join(thread, NULL);
    CHECK(request == MPI_REQUEST_NULL);
    CHECK_INT(queried, 1);
    CHECK_INT(freed, 1);
    CHECK_INT(state, -1);
    CHECK_INT(status.MPI_SOURCE, 5);
    CHECK_INT(status.MPI_TAG, 17);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK_INT(count, 3);
    return finish();
}
