/* ranks: 1 2 4 */
/* MPI 5.0 section 12.3.4: fetch_and_op is get_accumulate of one element of a predefined type, with
 * every operation. Each rank works on an element of its own at rank 0. */
#include "check.h"

#define TRY(type, name, op, first, value, after)                                                   \
    do {                                                                                           \
        type before = (first), mine = (value), old = 99, now = 99;                                 \
        MPI_Aint at = 8 * world_rank;                                                              \
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);                                                  \
        CHECK_CALL(MPI_Fetch_and_op(&before, &now, name, 0, at, MPI_REPLACE, win));                \
        CHECK_CALL(MPI_Fetch_and_op(&mine, &old, name, 0, at, op, win));                           \
        CHECK_CALL(MPI_Fetch_and_op(NULL, &now, name, 0, at, MPI_NO_OP, win));                     \
        MPI_Win_unlock(0, win);                                                                    \
        CHECK_INT(old, before);                                                                    \
        CHECK_INT(now, (type)(after));                                                             \
    } while (0)

#define WHOLE(type, name)                                                                          \
    TRY(type, name, MPI_SUM, 40, 2, 42);                                                           \
    TRY(type, name, MPI_PROD, 4, 3, 12);                                                           \
    TRY(type, name, MPI_MAX, 4, 3, 4);                                                             \
    TRY(type, name, MPI_MIN, 4, 3, 3);                                                             \
    TRY(type, name, MPI_BAND, 12, 10, 8);                                                          \
    TRY(type, name, MPI_BOR, 12, 10, 14);                                                          \
    TRY(type, name, MPI_BXOR, 12, 10, 6);                                                          \
    TRY(type, name, MPI_LAND, 12, 0, 0);                                                           \
    TRY(type, name, MPI_LOR, 0, 2, 1);                                                             \
    TRY(type, name, MPI_LXOR, 3, 2, 0)

#define REAL(type, name)                                                                           \
    TRY(type, name, MPI_SUM, 40, 2, 42);                                                           \
    TRY(type, name, MPI_PROD, 4, 3, 12);                                                           \
    TRY(type, name, MPI_MAX, 4, 5, 5);                                                             \
    TRY(type, name, MPI_MIN, 4, 5, 4)

int main(int argc, char **argv)
{
    MPI_Win win;
    char *base;
    start(&argc, &argv);
    MPI_Win_allocate(8 * world_size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    memset(base, 0, 8 * (size_t)world_size);
    MPI_Barrier(MPI_COMM_WORLD);
    WHOLE(signed char, MPI_SIGNED_CHAR);
    WHOLE(unsigned short, MPI_UNSIGNED_SHORT);
    WHOLE(int, MPI_INT);
    WHOLE(unsigned, MPI_UNSIGNED);
    WHOLE(long, MPI_LONG);
    WHOLE(unsigned long long, MPI_UNSIGNED_LONG_LONG);
    REAL(float, MPI_FLOAT);
    REAL(double, MPI_DOUBLE);
    MPI_Win_free(&win);
    return finish();
}
