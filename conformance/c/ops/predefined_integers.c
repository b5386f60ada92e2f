/* ranks: 2 3 4 */
/* MPI 5.0 section 6.9.2: each predefined operation on every C integer type, and all but the logical ones on the
 * multi-language types MPI_AINT, MPI_COUNT and MPI_OFFSET, as the table of operations and types has it. Rank r
 * contributes (r + 1, r, 5 - r), so results follow by hand from a loop in C. */
#include "check.h"
#include <stdint.h>

#define OVER(type, mpi, logical)                                                                               \
    do {                                                                                                       \
        static const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_LAND, MPI_LOR, MPI_LXOR, \
                                     MPI_BAND, MPI_BOR, MPI_BXOR};                                             \
        type in[3] = {(type)(world_rank + 1), (type)world_rank, (type)(5 - world_rank)}, out[3], wanted[3] = {0}; \
        for (int op = 0; op < 10; op++) {                                                                      \
            if (!(logical) && op >= 4 && op <= 6) continue;                                                    \
            memset(out, 0, sizeof out);                                                                        \
            CHECK_CALL(MPI_Allreduce(in, out, 3, mpi, ops[op], MPI_COMM_WORLD));                               \
            for (int r = 0; r < world_size; r++) {                                                             \
                type value[3] = {(type)(r + 1), (type)r, (type)(5 - r)};                                       \
                for (int i = 0; i < 3; i++) {                                                                  \
                    type w = wanted[i], v = value[i];                                                          \
                    if (r == 0) w = op >= 4 && op <= 6 ? !!v : v;                                              \
                    else if (op == 0) w = w + v;                                                               \
                    else if (op == 1) w = w * v;                                                               \
                    else if (op == 2) w = v < w ? v : w;                                                       \
                    else if (op == 3) w = v > w ? v : w;                                                       \
                    else if (op == 4) w = w && v;                                                              \
                    else if (op == 5) w = w || v;                                                              \
                    else if (op == 6) w = !w != !v;                                                            \
                    else if (op == 7) w = w & v;                                                               \
                    else if (op == 8) w = w | v;                                                               \
                    else w = w ^ v;                                                                            \
                    wanted[i] = w;                                                                             \
                }                                                                                              \
            }                                                                                                  \
            for (int i = 0; i < 3; i++) {                                                                      \
                CHECK_INT(op >= 4 && op <= 6 ? !!out[i] : out[i], wanted[i]);                                  \
            }                                                                                                  \
        }                                                                                                      \
    } while (0)

#define EACH(type, mpi) OVER(type, mpi, 1)
#define EACH_BUT_LOGICAL(type, mpi) OVER(type, mpi, 0)

int main(int argc, char **argv)
{
    start(&argc, &argv);
    EACH(int, MPI_INT);
    EACH(short, MPI_SHORT);
    EACH(long, MPI_LONG);
    EACH(long long, MPI_LONG_LONG);
    EACH(unsigned, MPI_UNSIGNED);
    EACH(unsigned short, MPI_UNSIGNED_SHORT);
    EACH(unsigned long, MPI_UNSIGNED_LONG);
    EACH(unsigned long long, MPI_UNSIGNED_LONG_LONG);
    EACH(signed char, MPI_SIGNED_CHAR);
    EACH(unsigned char, MPI_UNSIGNED_CHAR);
    EACH(int8_t, MPI_INT8_T);
    EACH(int16_t, MPI_INT16_T);
    EACH(int32_t, MPI_INT32_T);
    EACH(int64_t, MPI_INT64_T);
    EACH(uint8_t, MPI_UINT8_T);
    EACH(uint16_t, MPI_UINT16_T);
    EACH(uint32_t, MPI_UINT32_T);
    EACH(uint64_t, MPI_UINT64_T);
    EACH_BUT_LOGICAL(MPI_Aint, MPI_AINT);
    EACH_BUT_LOGICAL(MPI_Count, MPI_COUNT);
    EACH_BUT_LOGICAL(MPI_Offset, MPI_OFFSET);
    return finish();
}
