/* ranks: 1 2 4 */
/* MPI 5.0 sections 12.3.1 and 12.3.2: put and get move data between the origin's buffer and the
 * target's window at base + displacement x unit. Every rank reaches every rank, itself included,
 * on windows of each kind that has memory. */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    for (int kind = 0; kind < 2; kind++) {
        int own[64], *base = own, got[16];
        MPI_Win win;
        MPI_Aint bytes = sizeof own;
        if (kind == 0)
            MPI_Win_create(own, bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        else
            MPI_Win_allocate(bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        for (int i = 0; i < 64; i++) base[i] = -1;
        CHECK_CALL(MPI_Win_fence(0, win));
        int values[16][4];
        for (int rank = 0; rank < world_size; rank++) {
            for (int i = 0; i < 4; i++) values[rank][i] = 1000 * world_rank + 10 * rank + i;
            CHECK_CALL(MPI_Put(values[rank], 4, MPI_INT, rank, 4 * world_rank, 4, MPI_INT, win));
        }
        CHECK_CALL(MPI_Win_fence(0, win));
        for (int i = 0; i < 64; i++)
            CHECK_INT(base[i], i / 4 < world_size ? 1000 * (i / 4) + 10 * world_rank + i % 4 : -1);
        CHECK_CALL(MPI_Win_fence(0, win));
        for (int rank = 0; rank < world_size; rank++)
            CHECK_CALL(MPI_Get(&got[rank], 1, MPI_INT, rank, 4 * world_rank + 2, 1, MPI_INT, win));
        CHECK_CALL(MPI_Win_fence(0, win));
        for (int rank = 0; rank < world_size; rank++)
            CHECK_INT(got[rank], 1000 * world_rank + 10 * rank + 2);
        MPI_Win_free(&win);
    }
    return finish();
}
