/* ranks: 1 2 3 */
/* MPI 5.0 section 12.3.1: a struct of different elements with padding goes to a packed layout at
 * the target and back; padding and neighbours keep their bytes. */
#include "check.h"
#include <stddef.h>

struct wide {
    char mark;
    double real;
    short count[2];
};

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    int lengths[3] = {1, 1, 2};
    MPI_Aint apart[3] = {offsetof(struct wide, mark), offsetof(struct wide, real),
                         offsetof(struct wide, count)};
    MPI_Aint packed[3] = {0, 1, 9};
    MPI_Datatype parts[3] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT}, plain, wide, narrow;
    MPI_Type_create_struct(3, lengths, apart, parts, &plain);
    MPI_Type_create_resized(plain, 0, sizeof(struct wide), &wide);
    MPI_Type_create_struct(3, lengths, packed, parts, &plain);
    MPI_Type_create_resized(plain, 0, 13, &narrow);
    MPI_Type_commit(&wide), MPI_Type_commit(&narrow);
    for (int kind = 0; kind < 2; kind++) {
        static char own[64];
        char *base = own;
        struct wide values[3], got[3];
        MPI_Win win;
        if (kind == 0)
            MPI_Win_create(own, sizeof own, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        else
            MPI_Win_allocate(sizeof own, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        memset(base, 'z', 64);
        memset(got, 'y', sizeof got);
        for (int i = 0; i < 3; i++)
            values[i] = (struct wide){'a' + i, world_rank + i / 4.0, {i, -i}};
        MPI_Win_fence(0, win);
        CHECK_CALL(MPI_Put(values, 3, wide, right, 7, 3, narrow, win));
        MPI_Win_fence(0, win);
        double real;
        short last;
        CHECK_INT(base[6], 'z');
        CHECK_INT(base[7], 'a');
        CHECK_INT(base[7 + 26], 'c');
        memcpy(&real, base + 7 + 26 + 1, sizeof real);
        CHECK_DOUBLE(real, left + 0.5);
        memcpy(&last, base + 7 + 26 + 11, sizeof last);
        CHECK_INT(last, -2);
        CHECK_INT(base[7 + 39], 'z');
        MPI_Win_fence(0, win);
        CHECK_CALL(MPI_Get(got, 3, wide, right, 7, 3, narrow, win));
        MPI_Win_fence(0, win);
        for (int i = 0; i < 3; i++) {
            CHECK_INT(got[i].mark, values[i].mark);
            CHECK_DOUBLE(got[i].real, values[i].real);
            CHECK_INT(got[i].count[1], values[i].count[1]);
            CHECK_INT(((char *)&got[i])[1], 'y');
        }
        MPI_Win_free(&win);
    }
    MPI_Type_free(&wide), MPI_Type_free(&narrow), MPI_Type_free(&plain);
    return finish();
}
