/* ranks: 2 4 */
/* MPI 5.0 section 12.7.1 promises atomicity for each element. Programs that keep a list in a window replace a small
 * structure as MPI_BYTE and read it by MPI_NO_OP; they expect to see all of it or nothing, as every library shows it. */
#include "check.h"

enum { ROUNDS = 3000, MOST = 64 };

static void replace(MPI_Win win, int at, int bytes)
{
    char mine[MOST];
    for (int round = 1; round <= ROUNDS; round++) {
        memset(mine, round % 100 + 1, sizeof mine);
        MPI_Accumulate(mine, bytes, MPI_BYTE, 0, at, bytes, MPI_BYTE, MPI_REPLACE, win);
        MPI_Win_flush(0, win);
    }
}

static void read_often(MPI_Win win, int at, int bytes)
{
    char seen[MOST];
    for (int round = 1; round <= ROUNDS; round++) {
        MPI_Get_accumulate(NULL, 0, MPI_BYTE, seen, bytes, MPI_BYTE, 0, at, bytes, MPI_BYTE, MPI_NO_OP, win);
        MPI_Win_flush(0, win);
        for (int place = 1; place < bytes; place++)
            if (seen[place] != seen[0]) {
                check_fail(__LINE__, "a structure was seen in parts");
                return;
            }
    }
}

static void try(MPI_Win win)
{
    int places[] = {0, 8, 3}, lengths[] = {16, 24, MOST};
    for (int at = 0; at < 3; at++)
        for (int length = 0; length < 3; length++) {
            MPI_Win_lock_all(0, win);
            if (world_rank == world_size - 1) replace(win, places[at], lengths[length]);
            else if (world_rank != 0 || world_size == 2) read_often(win, places[at], lengths[length]);
            MPI_Win_unlock_all(win);
            MPI_Barrier(MPI_COMM_WORLD);
            if (world_rank == 0) {
                char zeros[128] = {0};
                MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
                MPI_Put(zeros, 128, MPI_BYTE, 0, 0, 128, MPI_BYTE, win);
                MPI_Win_unlock(0, win);
            }
            MPI_Barrier(MPI_COMM_WORLD);
        }
}

int main(int argc, char **argv)
{
    static double memory[16];
    MPI_Win win;
    char *base;
    start(&argc, &argv);
    MPI_Win_allocate(world_rank == 0 ? 128 : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    if (world_rank == 0) memset(base, 0, 128);
    MPI_Barrier(MPI_COMM_WORLD);
    try(win);
    MPI_Win_free(&win);
    MPI_Win_create(memory, world_rank == 0 ? 128 : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    try(win);
    MPI_Win_free(&win);
    return finish();
}
