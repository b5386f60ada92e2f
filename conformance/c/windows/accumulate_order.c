/* ranks: 2 3 */
/* MPI 5.0 section 12.7.2: accumulates from one origin to one place of one target take effect in the
 * order of the calls, unless the info key accumulate_ordering relaxes it: each fetched value is the
 * one written before, and the last one written stays. */
#include "check.h"

enum { ROUNDS = 300 };

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    for (int kind = 0; kind < 2; kind++) {
        static int values[ROUNDS], got[ROUNDS], wide[ROUNDS][64];
        int own[64], *base = own;
        MPI_Win win;
        if (kind == 0)
            MPI_Win_create(own, sizeof own, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        else
            MPI_Win_allocate(sizeof own, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        for (int i = 0; i < 64; i++) base[i] = -1;
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock_all(0, win);
        for (int i = 0; i < ROUNDS; i++) {
            values[i] = 1000 * world_rank + i;
            MPI_Fetch_and_op(&values[i], &got[i], MPI_INT, right, 5, MPI_REPLACE, win);
        }
        MPI_Win_flush(right, win);
        for (int i = 0; i < ROUNDS; i++) CHECK_INT(got[i], i ? values[i - 1] : -1);
        /* Long and short ones, wholes and parts. */
        for (int i = 0; i < ROUNDS; i++) {
            for (int j = 0; j < 64; j++) wide[i][j] = 64 * i + j;
            MPI_Accumulate(wide[i], 64, MPI_INT, right, 0, 64, MPI_INT, MPI_REPLACE, win);
            MPI_Get_accumulate(NULL, 0, MPI_INT, &got[i], 1, MPI_INT, right, i % 64, 1, MPI_INT,
                               MPI_NO_OP, win);
        }
        MPI_Win_unlock_all(win);
        for (int i = 0; i < ROUNDS; i++) CHECK_INT(got[i], 64 * i + i % 64);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_SHARED, world_rank, 0, win);
        for (int j = 0; j < 64; j++) CHECK_INT(base[j], 64 * (ROUNDS - 1) + j);
        MPI_Win_unlock(world_rank, win);
        MPI_Win_free(&win);
    }
    (void)left;
    return finish();
}
