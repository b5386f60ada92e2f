/* ranks: 2 */
/* MPI 5.0 section 12.2.4: in a dynamic window the target datatype may itself hold absolute
 * addresses of the target, with displacement MPI_BOTTOM. One operation reaches two regions. */
#include "check.h"

int main(int argc, char **argv)
{
    double left[4] = {0}, right[4] = {0};
    MPI_Aint address[2];
    MPI_Win win;
    start(&argc, &argv);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, left, sizeof left);
    MPI_Win_attach(win, right, sizeof right);
    if (world_rank == 1) {
        MPI_Get_address(&left[1], &address[0]);
        MPI_Get_address(&right[2], &address[1]);
    }
    MPI_Bcast(address, 2, MPI_AINT, 1, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_fence(0, win);
    if (world_rank == 0) {
        double values[3] = {1.5, 2.5, 3.5};
        MPI_Datatype both;
        int lengths[2] = {1, 2};
        MPI_Type_create_hindexed(2, lengths, address, MPI_DOUBLE, &both);
        MPI_Type_commit(&both);
        CHECK_CALL(MPI_Put(values, 3, MPI_DOUBLE, 1, (MPI_Aint)MPI_BOTTOM, 1, both, win));
        MPI_Type_free(&both);
        MPI_Win_fence(0, win);
    } else {
        MPI_Win_fence(0, win);
        CHECK_DOUBLE(left[0], 0);
        CHECK_DOUBLE(left[1], 1.5);
        CHECK_DOUBLE(left[2], 0);
        CHECK_DOUBLE(right[1], 0);
        CHECK_DOUBLE(right[2], 2.5);
        CHECK_DOUBLE(right[3], 3.5);
    }
    MPI_Win_fence(0, win);
    MPI_Win_detach(win, left);
    MPI_Win_detach(win, right);
    MPI_Win_free(&win);
    return finish();
}
