/* ranks: 1 2 */
/* skip-mpich: it does not look at the bounds of the window; the standard leaves that open */
/* MPI 5.0 section 12.6.2: what counts for the bounds is what the target datatype touches: a layout
 * with a gap that leaves the window is refused, one whose extent alone leaves it is not. */
#include "check.h"

int main(int argc, char **argv)
{
    int *base, values[2] = {7, 8}, class = 0;
    MPI_Datatype apart, wide;
    MPI_Win win;
    start(&argc, &argv);
    int last = world_size - 1;
    MPI_Win_allocate(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    for (int i = 0; i < 4; i++) base[i] = 1;
    MPI_Type_vector(2, 1, 3, MPI_INT, &apart);
    MPI_Type_create_resized(apart, 0, 1000, &wide);
    MPI_Type_commit(&apart), MPI_Type_commit(&wide);
    MPI_Win_fence(0, win);
    int code = MPI_Put(values, 2, MPI_INT, last, 1, 1, apart, win), end = MPI_Win_fence(0, win);
    MPI_Error_class(code ? code : end, &class);
    CHECK(class == MPI_ERR_RMA_RANGE || class == MPI_ERR_DISP);
    for (int i = 0; i < 4; i++) CHECK_INT(base[i], 1);
    MPI_Win_fence(0, win);
    if (world_rank == 0) CHECK_CALL(MPI_Put(values, 2, MPI_INT, last, 0, 1, wide, win));
    CHECK_CALL(MPI_Win_fence(0, win));
    if (world_rank == last) CHECK(base[0] == 7 && base[1] == 1 && base[3] == 8);
    MPI_Type_free(&apart), MPI_Type_free(&wide);
    MPI_Win_free(&win);
    return finish();
}
