/* ranks: 2 */
/* threads */
/* MPI 5.0 chapter 11, MPI_THREAD_MULTIPLE: several threads may call MPI at the same time with no restriction, and a
 * call that blocks blocks only its own thread. Thread i of rank 0 talks with thread i of rank 1 by tag i, so every
 * value is known. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 200 };
static int wrong[THREADS];

static void *talk(void *argument)
{
    int tag = (int)(size_t)argument, other = 1 - world_rank;
    for (int round = 0; round < ROUNDS; round++) {
        int out = 1000 * tag + round, in = -1;
        MPI_Status status;
        if (world_rank == 0) {
            MPI_Send(&out, 1, MPI_INT, other, tag, MPI_COMM_WORLD);
            MPI_Recv(&in, 1, MPI_INT, other, tag, MPI_COMM_WORLD, &status);
        } else {
            MPI_Recv(&in, 1, MPI_INT, other, tag, MPI_COMM_WORLD, &status);
            MPI_Send(&out, 1, MPI_INT, other, tag, MPI_COMM_WORLD);
        }
        wrong[tag] += in != out || status.MPI_SOURCE != other || status.MPI_TAG != tag;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    started();
    CHECK_INT(provided, MPI_THREAD_MULTIPLE);
    for (size_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, talk, (void *)i);
    for (size_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (size_t i = 0; i < THREADS; i++) CHECK_INT(wrong[i], 0);
    return finish();
}
