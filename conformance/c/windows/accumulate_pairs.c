/* ranks: 1 2 4 */
/* MPI 5.0 sections 12.3.4 and 6.9.4: MPI_MAXLOC and MPI_MINLOC work on the pair types in
 * accumulates; of equal values the lower index wins. */
#include "check.h"

static char *memory;
static MPI_Win win;

#define PAIR(type, name)                                                                           \
    do {                                                                                           \
        struct pair {                                                                              \
            type value;                                                                            \
            int index;                                                                             \
        } mine, *at = (struct pair *)memory;                                                       \
        for (int smaller = 0; smaller < 2; smaller++) {                                            \
            at[0].value = at[1].value = smaller ? 100 : -100;                                      \
            at[0].index = at[1].index = 77;                                                        \
            /* All but the last rank have the same best value. */                                  \
            mine.value = world_rank == world_size - 1 ? 20 : smaller ? 10 : 30;                    \
            mine.index = 40 - world_rank;                                                          \
            MPI_Win_fence(0, win);                                                                 \
            CHECK_CALL(MPI_Accumulate(&mine, 1, name, 0, sizeof mine, 1, name,                     \
                                      smaller ? MPI_MINLOC : MPI_MAXLOC, win));                    \
            MPI_Win_fence(0, win);                                                                 \
            if (world_rank == 0) {                                                                 \
                int best = world_size == 1 ? 20 : smaller ? 10 : 30;                               \
                CHECK_INT(at[1].value, best);                                                      \
                CHECK_INT(at[1].index, world_size == 1 ? 40 : 40 - (world_size - 2));              \
                CHECK_INT(at[0].index, 77);                                                        \
            }                                                                                      \
        }                                                                                          \
        struct pair old;                                                                           \
        mine.index = 5;                                                                            \
        mine.value = 6;                                                                            \
        MPI_Win_fence(0, win);                                                                     \
        at[1] = mine;                                                                              \
        MPI_Win_fence(0, win);                                                                     \
        CHECK_CALL(MPI_Fetch_and_op(&mine, &old, name, world_rank, sizeof mine, MPI_MAXLOC, win)); \
        MPI_Win_fence(0, win);                                                                     \
        CHECK(old.value == 6 && old.index == 5);                                                   \
    } while (0)

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Win_allocate(128, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    PAIR(float, MPI_FLOAT_INT);
    PAIR(double, MPI_DOUBLE_INT);
    PAIR(long, MPI_LONG_INT);
    PAIR(int, MPI_2INT);
    PAIR(short, MPI_SHORT_INT);
    PAIR(long double, MPI_LONG_DOUBLE_INT);
    MPI_Win_free(&win);
    return finish();
}
