/* ranks: 1 2 4 */
/* MPI 5.0 sections 12.3.4 and 6.9.2: accumulate on floating-point, complex, logical, byte, address
 * and count types with the operations that are defined for them. */
#include "check.h"
#include <complex.h>
#include <stdbool.h>

static char *memory;
static MPI_Win win;

#define TRY(type, name, op, first, mine, next)                                                     \
    do {                                                                                           \
        type wanted = (first), value, *at = (type *)memory;                                        \
        for (int rank = 0; rank < world_size; rank++) {                                            \
            type other = (type)(mine), old = wanted;                                               \
            (void)old;                                                                             \
            wanted = (type)(next);                                                                 \
        }                                                                                          \
        {                                                                                          \
            int rank = world_rank;                                                                 \
            (void)rank;                                                                            \
            value = (type)(mine);                                                                  \
        }                                                                                          \
        at[0] = at[1] = at[2] = (first);                                                           \
        MPI_Win_fence(0, win);                                                                     \
        CHECK_CALL(MPI_Accumulate(&value, 1, name, 0, sizeof(type), 1, name, op, win));            \
        MPI_Win_fence(0, win);                                                                     \
        if (world_rank == 0) CHECK(at[0] == (first) && at[1] == wanted && at[2] == (first));       \
    } while (0)

#define REAL(type, name)                                                                           \
    do {                                                                                           \
        TRY(type, name, MPI_SUM, 0.5, rank + 0.25, old + other);                                   \
        TRY(type, name, MPI_PROD, 2, rank + 0.5, old * other);                                     \
        TRY(type, name, MPI_MAX, -3, rank - 0.5, other > old ? other : old);                       \
        TRY(type, name, MPI_MIN, 9, 5 - rank, other < old ? other : old);                          \
        TRY(type, name, MPI_REPLACE, 9, 5, other);                                                 \
    } while (0)
#define COMPLEX(type, name)                                                                        \
    do {                                                                                           \
        TRY(type, name, MPI_SUM, 1 + 2 * I, rank + 0.5 * I, old + other);                          \
        TRY(type, name, MPI_PROD, 1 + 2 * I, 1 - 2 * I, old * other);                              \
    } while (0)
#define WHOLE(type, name)                                                                          \
    do {                                                                                           \
        TRY(type, name, MPI_SUM, 5, rank + 7, old + other);                                        \
        TRY(type, name, MPI_MAX, 5, rank + 7, other > old ? other : old);                          \
        TRY(type, name, MPI_BOR, 5, 1 << (rank + 20), old | other);                                \
    } while (0)

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Win_allocate(128, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    memset(memory, 0, 128);
    REAL(float, MPI_FLOAT);
    REAL(double, MPI_DOUBLE);
    REAL(long double, MPI_LONG_DOUBLE);
    COMPLEX(float complex, MPI_C_FLOAT_COMPLEX);
    COMPLEX(double complex, MPI_C_DOUBLE_COMPLEX);
    COMPLEX(long double complex, MPI_C_LONG_DOUBLE_COMPLEX);
    TRY(bool, MPI_C_BOOL, MPI_LAND, true, rank != 1, old && other);
    TRY(bool, MPI_C_BOOL, MPI_LOR, false, rank == 1, old || other);
    TRY(bool, MPI_C_BOOL, MPI_LXOR, false, true, old != other);
    TRY(unsigned char, MPI_BYTE, MPI_BAND, 0xff, ~(1 << rank), old & other);
    TRY(unsigned char, MPI_BYTE, MPI_BXOR, 0x81, 1 << rank, old ^ other);
    WHOLE(MPI_Aint, MPI_AINT);
    WHOLE(MPI_Offset, MPI_OFFSET);
    WHOLE(MPI_Count, MPI_COUNT);
    MPI_Win_free(&win);
    return finish();
}
