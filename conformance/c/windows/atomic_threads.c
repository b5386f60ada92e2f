/* ranks: 1 2 */
/* threads */
/* MPI 5.0 sections 11.6.2 and 12.7.1: with MPI_THREAD_MULTIPLE several threads of a process may
 * communicate in one epoch; their accumulates are atomic against each other too. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 3, ROUNDS = 200 };

static MPI_Win win;

static void *work(void *unused)
{
    long one = 1, old = -1;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, win);
        MPI_Win_flush(0, win);
        if (old < 0) check_fail(__LINE__, "a ticket was not drawn");
        old = -1;
        MPI_Accumulate(&one, 1, MPI_LONG, world_size - 1, 1, 1, MPI_LONG, MPI_SUM, win);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    long *base;
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    started();
    CHECK_INT(provided, MPI_THREAD_MULTIPLE);
    MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    base[0] = base[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, world_rank, 0, win);
    if (world_rank == 0) CHECK_INT(base[0], THREADS * ROUNDS * world_size);
    if (world_rank == world_size - 1) CHECK_INT(base[1], THREADS * ROUNDS * world_size);
    MPI_Win_unlock(world_rank, win);
    MPI_Win_free(&win);
    return finish();
}
