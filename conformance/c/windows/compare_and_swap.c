/* ranks: 1 2 4 */
/* MPI 5.0 section 12.3.4: compare_and_swap fetches the target's value and replaces it only if it
 * equals the compare value; the types are the integers, logical and byte types, and MPI_CHAR, which
 * other libraries take, too. Of all ranks that try to swap the same value, one wins. */
#include "check.h"
#include <stdbool.h>

static MPI_Win win;

#define TRY(type, name, low, high)                                                                 \
    do {                                                                                           \
        type zero = (low), one = (high), old = 55, now = 55;                                       \
        MPI_Aint at = 8 * world_rank;                                                              \
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);                                                  \
        MPI_Accumulate(&zero, 1, name, 0, at, 1, name, MPI_REPLACE, win);                          \
        MPI_Win_flush(0, win);                                                                     \
        CHECK_CALL(MPI_Compare_and_swap(&one, &one, &old, name, 0, at, win));                      \
        MPI_Win_flush(0, win);                                                                     \
        CHECK_INT(old, zero);                                                                      \
        CHECK_CALL(MPI_Compare_and_swap(&one, &zero, &old, name, 0, at, win));                     \
        MPI_Win_flush(0, win);                                                                     \
        CHECK_INT(old, zero);                                                                      \
        MPI_Fetch_and_op(NULL, &now, name, 0, at, MPI_NO_OP, win);                                 \
        MPI_Win_unlock(0, win);                                                                    \
        CHECK_INT(now, one);                                                                       \
    } while (0)

int main(int argc, char **argv)
{
    char *base;
    start(&argc, &argv);
    MPI_Win_allocate(8 * world_size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    memset(base, 0, 8 * (size_t)world_size);
    MPI_Barrier(MPI_COMM_WORLD);
    TRY(signed char, MPI_SIGNED_CHAR, -3, 7);
    TRY(unsigned char, MPI_BYTE, 200, 7);
    TRY(char, MPI_CHAR, 'a', 'b');
    TRY(short, MPI_SHORT, -300, 7);
    TRY(int, MPI_INT, -70000, 7);
    TRY(unsigned, MPI_UNSIGNED, 3000000000u, 7);
    TRY(long, MPI_LONG, -5000000000l, 7);
    TRY(unsigned long long, MPI_UNSIGNED_LONG_LONG, 1ull << 60, 7);
    TRY(bool, MPI_C_BOOL, false, true);
    MPI_Barrier(MPI_COMM_WORLD);
    int free_mark = -1, mine = world_rank, old = -5, wins, sum;
    MPI_Win_fence(0, win);
    if (world_rank == 0) MPI_Put(&free_mark, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Compare_and_swap(&mine, &free_mark, &old, MPI_INT, 0, 0, win);
    MPI_Win_fence(0, win);
    wins = old == free_mark;
    MPI_Allreduce(&wins, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_INT(sum, 1);
    int winner = wins ? world_rank : old, least, most;
    MPI_Allreduce(&winner, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&winner, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK_INT(least, most);
    if (world_rank == 0) CHECK_INT(*(int *)base, winner);
    MPI_Win_free(&win);
    return finish();
}
