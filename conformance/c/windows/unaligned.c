/* ranks: 1 2 3 */
/* MPI 5.0 sections 12.2.1 and 12.3: with unit 1 any byte is a displacement; put and get of any type
 * work at odd addresses, from odd origins. */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    for (int kind = 0; kind < 2; kind++) {
        static char own[200];
        char *base = own, buffer[100], got[100];
        MPI_Win win;
        if (kind == 0)
            MPI_Win_create(own + 1, 199, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win), base = own + 1;
        else
            MPI_Win_allocate(199, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        memset(base, 0, 199);
        double value = world_rank + 0.5, seen;
        int whole[5], read[5];
        for (int i = 0; i < 5; i++) whole[i] = 1 << (i + world_rank);
        memcpy(buffer + 3, &value, sizeof value);
        memcpy(buffer + 21, whole, sizeof whole);
        MPI_Win_fence(0, win);
        CHECK_CALL(MPI_Put(buffer + 3, 1, MPI_DOUBLE, right, 5, 1, MPI_DOUBLE, win));
        CHECK_CALL(MPI_Put(buffer + 21, 5, MPI_INT, right, 179, 5, MPI_INT, win));
        MPI_Win_fence(0, win);
        memcpy(&seen, base + 5, sizeof seen);
        CHECK_DOUBLE(seen, left + 0.5);
        memcpy(read, base + 179, sizeof read);
        for (int i = 0; i < 5; i++) CHECK_INT(read[i], 1 << (i + left));
        CHECK_INT(base[4], 0);
        CHECK_INT(base[178], 0);
        MPI_Win_fence(0, win);
        CHECK_CALL(MPI_Get(got + 7, 5, MPI_INT, right, 179, 5, MPI_INT, win));
        MPI_Win_fence(0, win);
        CHECK_BYTES(got + 7, whole, sizeof whole);
        MPI_Win_free(&win);
    }
    return finish();
}
