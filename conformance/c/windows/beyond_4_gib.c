/* ranks: 1 2 */
/* MPI 5.0 sections 12.2 and 12.3: sizes and displacements are MPI_Aint: windows of more than 4 GiB, places behind the
 * first 4 GiB by units of 1 and of 4096, and a target layout whose blocks lie more than 4 GiB apart. Only the pages
 * that are touched take memory. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <sys/mman.h>

#include "check.h"

#define BYTES ((MPI_Aint)5 << 30)
#define FAR (((MPI_Aint)9 << 29) + 16) /* 4.5 GiB and two words */

static void access_window(MPI_Win win, MPI_Aint unit, int target)
{
    long values[2] = {11, 12}, got[2] = {0, 0}, one = 1, old = 0, swap = 99, compare = 13;
    MPI_Aint at = unit == 1 ? FAR : FAR / unit, offset = unit == 1 ? 0 : FAR % unit;
    MPI_Datatype apart, one_long;
    /* Where the unit is a page, the datatype says how far behind its beginning the word lies. */
    MPI_Type_create_hindexed_block(1, 1, &offset, MPI_LONG, &one_long);
    MPI_Type_commit(&one_long);
    MPI_Type_create_hvector(2, 1, FAR, MPI_LONG, &apart);
    MPI_Type_commit(&apart);
    MPI_Win_fence(0, win);
    if (world_rank == 0) CHECK_CALL(MPI_Put(values, 1, MPI_LONG, target, at, 1, one_long, win));
    MPI_Win_fence(0, win);
    if (world_rank == 0) CHECK_CALL(MPI_Accumulate(&one, 1, MPI_LONG, target, at, 1, one_long, MPI_SUM, win));
    MPI_Win_fence(0, win);
    if (world_rank == 0) CHECK_CALL(MPI_Get(got, 1, MPI_LONG, target, at, 1, one_long, win));
    MPI_Win_fence(0, win);
    if (world_rank == 0) CHECK_INT(got[0], 12);
    /* Both blocks: the first word, and the one behind 4 GiB. */
    if (world_rank == 0) CHECK_CALL(MPI_Put(values, 2, MPI_LONG, target, 0, 1, apart, win));
    MPI_Win_fence(0, win);
    if (world_rank == 0) CHECK_CALL(MPI_Get(got, 2, MPI_LONG, target, 0, 1, apart, win));
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    if (world_rank == 0) {
        CHECK_INT(got[0], 11);
        CHECK_INT(got[1], 12);
        if (unit == 1) {
            CHECK_CALL(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
            CHECK_CALL(MPI_Fetch_and_op(&one, &old, MPI_LONG, target, at, MPI_SUM, win));
            CHECK_CALL(MPI_Win_flush(target, win));
            CHECK_INT(old, 12);
            CHECK_CALL(MPI_Compare_and_swap(&swap, &compare, &old, MPI_LONG, target, at, win));
            CHECK_CALL(MPI_Win_unlock(target, win));
            CHECK_INT(old, 13);
        }
    }
    MPI_Type_free(&one_long);
    MPI_Type_free(&apart);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    char *own = NULL;
    int flag, last;
    MPI_Aint *size;
    MPI_Win win;
    start(&argc, &argv);
    last = world_size - 1;
    MPI_Aint bytes = world_rank == last ? BYTES : 0;
    for (MPI_Aint unit = 1; unit <= 4096; unit *= 4096) {
        if (bytes) own = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        CHECK(own != MAP_FAILED);
        CHECK_CALL(MPI_Win_create(own, bytes, (int)unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        CHECK_CALL(MPI_Win_get_attr(win, MPI_WIN_SIZE, &size, &flag));
        CHECK_INT(*size, bytes);
        access_window(win, unit, last);
        if (bytes) CHECK_INT(*(long *)(own + FAR), unit == 1 ? 99 : 12);
        MPI_Win_free(&win);
        if (bytes) munmap(own, BYTES);
    }
    return finish();
}
