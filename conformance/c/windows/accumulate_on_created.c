/* ranks: 2 3 */
/* MPI 5.0 section 12.3.4: accumulates on ordinary memory given to MPI_Win_create, from all ranks at
 * once and the owner among them, all take effect: integers, floating point and pairs. */
#include "check.h"

enum { ROUNDS = 100, SLOTS = 20 };

int main(int argc, char **argv)
{
    static struct {
        int whole[SLOTS];
        double real[SLOTS];
        struct {
            double value;
            int index;
        } pair;
    } own;
    MPI_Win win;
    start(&argc, &argv);
    memset(&own, 0, sizeof own);
    MPI_Win_create(&own, sizeof own, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    int ones[SLOTS];
    double halves[SLOTS];
    for (int i = 0; i < SLOTS; i++) ones[i] = i, halves[i] = i / 2.0;
    MPI_Aint real = (char *)own.real - (char *)&own, pair = (char *)&own.pair - (char *)&own;
    MPI_Win_fence(0, win);
    for (int round = 0; round < ROUNDS; round++)
        for (int rank = 0; rank < world_size; rank++) {
            MPI_Accumulate(ones, SLOTS, MPI_INT, rank, 0, SLOTS, MPI_INT, MPI_SUM, win);
            MPI_Accumulate(halves, SLOTS, MPI_DOUBLE, rank, real, SLOTS, MPI_DOUBLE, MPI_SUM, win);
        }
    struct {
        double value;
        int index;
    } mine = {world_rank + 0.5, world_rank};
    MPI_Accumulate(&mine, 1, MPI_DOUBLE_INT, 0, pair, 1, MPI_DOUBLE_INT, MPI_MAXLOC, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < SLOTS; i++) {
        CHECK_INT(own.whole[i], i * ROUNDS * world_size);
        CHECK_DOUBLE(own.real[i], i / 2.0 * ROUNDS * world_size);
    }
    if (world_rank == 0) {
        CHECK_DOUBLE(own.pair.value, world_size - 0.5);
        CHECK_INT(own.pair.index, world_size - 1);
    }
    MPI_Win_free(&win);
    return finish();
}
