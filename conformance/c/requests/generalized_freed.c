/* ranks: 1 */
/* threads */
/* MPI 5.0 section 13.2: MPI_Request_free may come before MPI_Grequest_complete. free_fn is called in whichever of the two
 * comes last, and the handle that was copied before stays good for MPI_Grequest_complete until then. No query_fn is
 * called: nothing waits for such a request. */
#include "check.h"
#include <pthread.h>

static int queried = 0, freed = 0;

static int query(void *state, MPI_Status *status)
{
    (void)state, (void)status;
    queried++;
    return MPI_SUCCESS;
}

static int release(void *state)
{
    freed++;
    ++*(int *)state;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state, (void)complete;
    return MPI_SUCCESS;
}

static void *complete(void *request)
{
    MPI_Grequest_complete(*(MPI_Request *)request);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, state = 0;
    MPI_Request request, copy;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    started();
    CHECK_CALL(MPI_Grequest_start(query, release, cancel, &state, &request));
    copy = request;
    CHECK_CALL(MPI_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL);
    CHECK_INT(freed, 0);
    CHECK_CALL(MPI_Grequest_complete(copy));
    CHECK_INT(freed, 1);

    CHECK_CALL(MPI_Grequest_start(query, release, cancel, &state, &request));
    CHECK_CALL(MPI_Grequest_complete(request));
    CHECK_INT(freed, 1);
    CHECK_CALL(MPI_Request_free(&request));
    CHECK_INT(freed, 2);

    /* Both at once: free_fn is called exactly once. */
    for (int i = 0; i < 200 && provided == MPI_THREAD_MULTIPLE; i++) {
        pthread_t thread;
        state = 0;
        MPI_Grequest_start(query, release, cancel, &state, &request);
        copy = request;
        pthread_create(&thread, NULL, complete, &copy);
        CHECK_CALL(MPI_Request_free(&request));
        pthread_join(thread, NULL);
        CHECK_INT(state, 1);
    }
    CHECK_INT(queried, 0);
    return finish();
}
