/* ranks: 1 2 3 */
/* MPI 5.0 section 12.3: the origin buffer may be MPI_BOTTOM with a datatype of absolute addresses,
 * and a target datatype may begin below its displacement when the result lies in the window. */
#include "check.h"

int main(int argc, char **argv)
{
    int one = 71, two = 72, three[2] = {-1, -1}, *base;
    MPI_Win win;
    start(&argc, &argv);
    int right = (world_rank + 1) % world_size;
    MPI_Win_allocate(8 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    for (int i = 0; i < 8; i++) base[i] = 0;
    MPI_Aint address[2];
    MPI_Get_address(&one, &address[0]);
    MPI_Get_address(&two, &address[1]);
    MPI_Datatype both, below;
    MPI_Type_create_hindexed_block(2, 1, address, MPI_INT, &both);
    int places[2] = {-3, 2};
    MPI_Type_create_indexed_block(2, 1, places, MPI_INT, &below);
    MPI_Type_commit(&both), MPI_Type_commit(&below);
    MPI_Win_fence(0, win);
    CHECK_CALL(MPI_Put(MPI_BOTTOM, 1, both, right, 4, 1, below, win));
    MPI_Win_fence(0, win);
    for (int i = 0; i < 8; i++) CHECK_INT(base[i], i == 1 ? 71 : i == 6 ? 72 : 0);
    MPI_Win_fence(0, win);
    CHECK_CALL(MPI_Get(three, 2, MPI_INT, right, 4, 1, below, win));
    MPI_Win_fence(0, win);
    CHECK(three[0] == 71 && three[1] == 72);
    MPI_Type_free(&both), MPI_Type_free(&below);
    MPI_Win_free(&win);
    return finish();
}
