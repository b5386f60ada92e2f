/* ranks: 2 */
/* threads */
/* MPI 5.0 chapter 11, MPI_Init_thread: the levels are ordered SINGLE < FUNNELED < SERIALIZED < MULTIPLE. A library that
 * supports the level asked for returns it or a higher one; MPI_Query_thread returns the same. The thread that
 * initialised is the main thread, every other is not, and MPI_Is_thread_main is one of the calls any thread may make at
 * any time. */
#include "check.h"
#include <pthread.h>

static void *other(void *flag)
{
    MPI_Is_thread_main(flag);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided = -1, queried = -1, flag = -1;
    CHECK_INT(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided), MPI_SUCCESS);
    started();
    CHECK(MPI_THREAD_SINGLE < MPI_THREAD_FUNNELED);
    CHECK(MPI_THREAD_FUNNELED < MPI_THREAD_SERIALIZED);
    CHECK(MPI_THREAD_SERIALIZED < MPI_THREAD_MULTIPLE);
    CHECK(provided >= MPI_THREAD_FUNNELED && provided <= MPI_THREAD_MULTIPLE);
    MPI_Query_thread(&queried);
    CHECK_INT(queried, provided);
    MPI_Is_thread_main(&flag);
    CHECK_INT(flag, 1);
    if (provided > MPI_THREAD_SINGLE) {
        pthread_t thread;
        pthread_create(&thread, NULL, other, &flag);
        pthread_join(thread, NULL);
        CHECK_INT(flag, 0);
    }
    return finish();
}
