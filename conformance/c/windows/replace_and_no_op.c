/* ranks: 1 2 3 */
/* MPI 5.0 section 12.3.4: MPI_REPLACE puts the origin's value in place of the target's, on every
 * type; MPI_NO_OP leaves the target as it is and get_accumulate and fetch_and_op still fetch. With
 * MPI_NO_OP the origin's arguments are ignored. */
#include "check.h"

int main(int argc, char **argv)
{
    struct cell {
        double real;
        long whole[2];
        char text[8];
    } *base;
    MPI_Win win;
    start(&argc, &argv);
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    MPI_Win_allocate(sizeof *base, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    base->real = 0.5 + world_rank;
    base->whole[0] = base->whole[1] = world_rank;
    memcpy(base->text, "abcdefg", 8);
    MPI_Win_fence(0, win);
    double real = -1, next = 8.5 + world_rank;
    long whole[2] = {-1, -1};
    MPI_Aint at = (char *)&base->whole - (char *)base, text = base->text - (char *)base;
    CHECK_CALL(MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, whole, 2, MPI_LONG, right, at, 2,
                                  MPI_LONG, MPI_NO_OP, win));
    CHECK_CALL(MPI_Fetch_and_op(NULL, &real, MPI_DOUBLE, right, 0, MPI_NO_OP, win));
    MPI_Win_fence(0, win);
    CHECK_DOUBLE(real, 0.5 + right);
    CHECK(whole[0] == right && whole[1] == right);
    CHECK_DOUBLE(base->real, 0.5 + world_rank);
    MPI_Win_fence(0, win);
    CHECK_CALL(MPI_Accumulate("XYZ", 3, MPI_CHAR, right, text + 2, 3, MPI_CHAR, MPI_REPLACE, win));
    CHECK_CALL(MPI_Fetch_and_op(&next, &real, MPI_DOUBLE, right, 0, MPI_REPLACE, win));
    MPI_Win_fence(0, win);
    CHECK_STRING(base->text, "abXYZfg");
    CHECK_DOUBLE(real, 0.5 + right);
    CHECK_DOUBLE(base->real, 8.5 + left);
    MPI_Win_free(&win);
    return finish();
}
