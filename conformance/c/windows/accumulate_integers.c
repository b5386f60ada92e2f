/* ranks: 1 2 4 */
/* MPI 5.0 sections 12.3.4 and 6.9.2: accumulate combines by any predefined operation of reductions,
 * on every C integer type that the operation is for. Contributions of all ranks to one target give
 * what a reduction gives. */
#include "check.h"
#include <stdint.h>

static char *memory;
static MPI_Win win;

#define TRY(type, name, op, first, mine, next)                                                     \
    do {                                                                                           \
        type wanted = (first), value[2], *at = (type *)memory;                                     \
        for (int rank = 0; rank < world_size; rank++) {                                            \
            type other = (type)(mine), old = wanted;                                               \
            wanted = (type)(next);                                                                 \
        }                                                                                          \
        {                                                                                          \
            int rank = world_rank;                                                                 \
            (void)rank;                                                                            \
            value[0] = value[1] = (type)(mine);                                                    \
        }                                                                                          \
        at[0] = at[1] = at[2] = (first);                                                           \
        MPI_Win_fence(0, win);                                                                     \
        CHECK_CALL(MPI_Accumulate(value, 2, name, 0, sizeof(type), 2, name, op, win));             \
        MPI_Win_fence(0, win);                                                                     \
        if (world_rank == 0) {                                                                     \
            CHECK_INT(at[0], (type)(first));                                                       \
            CHECK_INT(at[1], wanted);                                                              \
            CHECK_INT(at[2], wanted);                                                              \
        }                                                                                          \
    } while (0)

#define ALL(type, name)                                                                            \
    do {                                                                                           \
        TRY(type, name, MPI_SUM, 3, rank + 1, old + other);                                        \
        TRY(type, name, MPI_PROD, 2, rank % 3 + 1, old * other);                                   \
        TRY(type, name, MPI_MAX, 1, 5 - rank, other > old ? other : old);                          \
        TRY(type, name, MPI_MIN, 100, 5 - rank, other < old ? other : old);                        \
        TRY(type, name, MPI_BAND, 0x7f, ~(1 << rank), old & other);                                \
        TRY(type, name, MPI_BOR, 0x40, 1 << rank, old | other);                                    \
        TRY(type, name, MPI_BXOR, 0x55, 3 << rank, old ^ other);                                   \
        TRY(type, name, MPI_LAND, 5, rank < 9 ? 2 : 0, old && other);                              \
        TRY(type, name, MPI_LOR, 0, rank == 0 ? 2 : 0, old || other);                              \
        TRY(type, name, MPI_LXOR, 0, 7, !old != !other);                                           \
    } while (0)

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    ALL(signed char, MPI_SIGNED_CHAR);
    ALL(unsigned char, MPI_UNSIGNED_CHAR);
    ALL(short, MPI_SHORT);
    ALL(unsigned short, MPI_UNSIGNED_SHORT);
    ALL(int, MPI_INT);
    ALL(unsigned, MPI_UNSIGNED);
    ALL(long, MPI_LONG);
    ALL(unsigned long, MPI_UNSIGNED_LONG);
    ALL(long long, MPI_LONG_LONG);
    ALL(unsigned long long, MPI_UNSIGNED_LONG_LONG);
    ALL(int8_t, MPI_INT8_T);
    ALL(uint8_t, MPI_UINT8_T);
    ALL(int16_t, MPI_INT16_T);
    ALL(uint16_t, MPI_UINT16_T);
    ALL(int32_t, MPI_INT32_T);
    ALL(uint32_t, MPI_UINT32_T);
    ALL(int64_t, MPI_INT64_T);
    ALL(uint64_t, MPI_UINT64_T);
    MPI_Win_free(&win);
    return finish();
}
