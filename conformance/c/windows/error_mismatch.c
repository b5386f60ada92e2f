/* ranks: 1 2 */
/* skip-mpich: it moves the shorter of the two, or answers nothing; the standard leaves that open */
/* MPI 5.0 sections 12.3.1 and 12.3.4: origin and target hold the same elements. More data at the
 * origin than the target's layout holds is an error, MPI_ERR_TRUNCATE or MPI_ERR_TYPE; so are an
 * operation that is not for the type, and different elements in an accumulate. */
#include "check.h"

int main(int argc, char **argv)
{
    int *base, value[4] = {1, 2, 3, 4};
    double real = 1.5;
    MPI_Win win;
    start(&argc, &argv);
    MPI_Win_allocate(4 * sizeof(int), 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    for (int i = 0; i < 4; i++) base[i] = 9;
    int last = world_size - 1;
    MPI_Win_fence(0, win);
    CHECK(MPI_Put(value, 4, MPI_INT, last, 0, 2, MPI_INT, win) != MPI_SUCCESS);
    CHECK(MPI_Get(value, 2, MPI_INT, last, 0, 4, MPI_INT, win) != MPI_SUCCESS);
    CHECK(MPI_Accumulate(value, 4, MPI_INT, last, 0, 2, MPI_INT, MPI_SUM, win) != MPI_SUCCESS);
    CHECK(MPI_Accumulate(&real, 1, MPI_DOUBLE, last, 0, 2, MPI_INT, MPI_SUM, win) != MPI_SUCCESS);
    CHECK_CLASS(MPI_Accumulate(&real, 1, MPI_DOUBLE, last, 0, 1, MPI_DOUBLE, MPI_BAND, win),
                MPI_ERR_OP);
    CHECK_CLASS(MPI_Fetch_and_op(&real, &real, MPI_DOUBLE, last, 0, MPI_MAXLOC, win), MPI_ERR_OP);
    CHECK_CLASS(MPI_Accumulate(value, 1, MPI_INT, last, 0, 1, MPI_INT, MPI_NO_OP, win), MPI_ERR_OP);
    CHECK_CLASS(MPI_Put(value, 1, MPI_INT, last, 0, 0, MPI_INT, win), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Get(value, 1, MPI_INT, last, 0, 0, MPI_INT, win), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Accumulate(value, 1, MPI_INT, last, 0, 0, MPI_INT, MPI_SUM, win), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Get_accumulate(value, 0, MPI_INT, value, 1, MPI_INT, last, 0, 0, MPI_INT,
                                   MPI_SUM, win), MPI_ERR_TYPE);
    CHECK_CALL(MPI_Put(value, 1, MPI_INT, MPI_PROC_NULL, 0, 0, MPI_INT, win));
    CHECK_CALL(MPI_Win_fence(0, win));
    for (int i = 0; i < 4; i++) CHECK_INT(base[i], 9);
    CHECK(value[0] == 1 && value[3] == 4 && real == 1.5);
    MPI_Win_fence(0, win);
    if (world_rank == 0) CHECK_CALL(MPI_Put(value, 4, MPI_INT, last, 0, 4, MPI_INT, win));
    CHECK_CALL(MPI_Win_fence(0, win));
    if (world_rank == last) CHECK_INT(base[3], 4);
    MPI_Win_free(&win);
    return finish();
}
