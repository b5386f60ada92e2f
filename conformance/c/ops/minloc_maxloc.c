/* ranks: 2 3 4 */
/* MPI 5.0 section 6.9.4: MPI_MINLOC and MPI_MAXLOC give the extreme value and the index that came with it; among equal
 * values the least index. */
#include "check.h"

#define PAIR(type, mpi)                                                                                    \
    do {                                                                                                   \
        struct { type value; int index; } in[2] = {{(type)(world_rank % 2), 10 + world_rank}, {7, 20 - world_rank}}, out[2]; \
        memset(out, 0, sizeof out);                                                                        \
        CHECK_CALL(MPI_Allreduce(in, out, 2, mpi, MPI_MAXLOC, MPI_COMM_WORLD));                            \
        CHECK(out[0].value == 1 && out[1].value == 7);                                                     \
        CHECK_INT(out[0].index, 11);                                                                       \
        CHECK_INT(out[1].index, 20 - (world_size - 1));                                                    \
        CHECK_CALL(MPI_Allreduce(in, out, 2, mpi, MPI_MINLOC, MPI_COMM_WORLD));                            \
        CHECK(out[0].value == 0 && out[1].value == 7);                                                     \
        CHECK_INT(out[0].index, 10);                                                                       \
        CHECK_INT(out[1].index, 20 - (world_size - 1));                                                    \
    } while (0)

int main(int argc, char **argv)
{
    start(&argc, &argv);
    PAIR(float, MPI_FLOAT_INT);
    PAIR(double, MPI_DOUBLE_INT);
    PAIR(long, MPI_LONG_INT);
    PAIR(short, MPI_SHORT_INT);
    PAIR(int, MPI_2INT);
    PAIR(long double, MPI_LONG_DOUBLE_INT);
    return finish();
}
