/* ranks: 2 3 */
/* skip-mpich: its MPI_Win_sync makes no progress, so the rounds with that alone wait for ever */
/* MPI 5.0 section 12.7.3: an operation that was begun in an epoch comes to its end although the
 * origin never flushes that target: here the origin waits, in three ways, for what the target does
 * when it has seen the operation's effect. */
#include "check.h"
#include <time.h>

enum { ROUNDS = 12 };

static MPI_Win win;
static volatile int *cells;

/* Until the other side has written the round into this rank's cell. */
static void await(int round)
{
    for (int i = 0; i < 20000 && cells[0] < round; i++) {
        if (round % 3 == 1) MPI_Win_flush(world_rank, win);
        nanosleep(&(struct timespec){0, 500000}, NULL);
        MPI_Win_sync(win);
    }
    CHECK_INT(cells[0], round);
}

int main(int argc, char **argv)
{
    static int own[4];
    int token = 0;
    start(&argc, &argv);
    cells = own;
    MPI_Win_create(own, sizeof own, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 1; round <= ROUNDS && world_rank < 2; round++) {
        int other = 1 - world_rank;
        if (world_rank == 0) {
            MPI_Accumulate(&round, 1, MPI_INT, other, 0, 1, MPI_INT, MPI_REPLACE, win);
            if (round % 3 == 0)
                MPI_Recv(&token, 1, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            else
                await(round);
        } else {
            await(round);
            if (round % 3 == 0) {
                MPI_Send(&token, 1, MPI_INT, other, 0, MPI_COMM_WORLD);
            } else {
                MPI_Accumulate(&round, 1, MPI_INT, other, 0, 1, MPI_INT, MPI_REPLACE, win);
                MPI_Win_flush(other, win);
            }
        }
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    return finish();
}
