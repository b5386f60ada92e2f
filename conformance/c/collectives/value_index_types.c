/* ranks: 1 2 3 */
/* MPI 5.0 section 6.9.4: the types of value and index are predefined datatypes, "as if" made of a struct of both, and can
   be used wherever a datatype can: collectives that move data move value and index. */
#include "check.h"

#define VALUE(number) ((number) + 1)
#define INDEX(number) (100 * (number) + 7)

#define TRY(type, Struct)                                                                  \
    do {                                                                                   \
        Struct one = {VALUE(world_rank), INDEX(world_rank)}, all[3], out[3], in[3];        \
        memset(all, 0, sizeof all);                                                        \
        memset(in, 0, sizeof in);                                                          \
        for (int i = 0; i < world_size; i++) {                                             \
            out[i].value = VALUE(10 * world_rank + i);                                     \
            out[i].index = INDEX(10 * world_rank + i);                                     \
        }                                                                                  \
        CHECK_CALL(MPI_Allgather(&one, 1, type, all, 1, type, MPI_COMM_WORLD));            \
        CHECK_CALL(MPI_Alltoall(out, 1, type, in, 1, type, MPI_COMM_WORLD));               \
        for (int i = 0; i < world_size; i++) {                                             \
            CHECK_DOUBLE(all[i].value, VALUE(i));                                          \
            CHECK_INT(all[i].index, INDEX(i));                                             \
            CHECK_DOUBLE(in[i].value, VALUE(10 * i + world_rank));                         \
            CHECK_INT(in[i].index, INDEX(10 * i + world_rank));                            \
        }                                                                                  \
        memset(all, 0, sizeof all);                                                        \
        CHECK_CALL(MPI_Gather(&one, 1, type, all, 1, type, 0, MPI_COMM_WORLD));            \
        for (int i = 0; world_rank == 0 && i < world_size; i++) {                          \
            CHECK_DOUBLE(all[i].value, VALUE(i));                                          \
            CHECK_INT(all[i].index, INDEX(i));                                             \
        }                                                                                  \
        CHECK_CALL(MPI_Scatter(out, 1, type, &one, 1, type, 0, MPI_COMM_WORLD));           \
        CHECK_DOUBLE(one.value, VALUE(world_rank));                                        \
        CHECK_INT(one.index, INDEX(world_rank));                                           \
        CHECK_CALL(MPI_Bcast(&one, 1, type, world_size - 1, MPI_COMM_WORLD));              \
        CHECK_DOUBLE(one.value, VALUE(world_size - 1));                                    \
        CHECK_INT(one.index, INDEX(world_size - 1));                                       \
    } while (0)

typedef struct { float value; int index; } FloatInt;
typedef struct { double value; int index; } DoubleInt;
typedef struct { long value; int index; } LongInt;
typedef struct { int value; int index; } TwoInt;
typedef struct { short value; int index; } ShortInt;
typedef struct { long double value; int index; } LongDoubleInt;

int main(int argc, char **argv)
{
    start(&argc, &argv);
    TRY(MPI_FLOAT_INT, FloatInt);
    TRY(MPI_DOUBLE_INT, DoubleInt);
    TRY(MPI_LONG_INT, LongInt);
    TRY(MPI_2INT, TwoInt);
    TRY(MPI_SHORT_INT, ShortInt);
    TRY(MPI_LONG_DOUBLE_INT, LongDoubleInt);
    return finish();
}
