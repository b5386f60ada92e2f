/* ranks: 2 3 4 */
/* MPI 5.0 section 6.2.3: on an intercommunicator the root passes MPI_ROOT, the others of its group MPI_PROC_NULL, and
 * the other group the root's rank. Data move between the groups only. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Comm half, inter;
    int data = -1, all[4] = {-1, -1, -1, -1}, sum = -1, pieces[4] = {20, 21, 22, 23}, piece = -1, rank, remotes;
    start(&argc, &argv);
    int side = world_rank % 2;
    MPI_Comm_split(MPI_COMM_WORLD, side, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 5, &inter);
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_remote_size(inter, &remotes);
    /* The root is local rank 0 of side 0; side 1 is the other group. */
    int root = side == 1 ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL, is_root = side == 0 && rank == 0;
    if (is_root) data = 77;
    CHECK_CALL(MPI_Bcast(&data, 1, MPI_INT, root, inter));
    CHECK_INT(data, side == 1 || is_root ? 77 : -1);
    CHECK_CALL(MPI_Gather(&world_rank, 1, MPI_INT, all, 1, MPI_INT, root, inter));
    if (is_root)
        for (int i = 0; i < remotes; i++) CHECK_INT(all[i], 2 * i + 1);
    else CHECK_INT(all[0], -1);
    CHECK_CALL(MPI_Scatter(pieces, 1, MPI_INT, &piece, 1, MPI_INT, root, inter));
    CHECK_INT(piece, side == 1 ? 20 + rank : -1);
    CHECK_CALL(MPI_Reduce(&world_rank, &sum, 1, MPI_INT, MPI_SUM, root, inter));
    int odd = 0;
    for (int r = 1; r < world_size; r += 2) odd += r;
    CHECK_INT(sum, is_root ? odd : -1);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    return finish();
}
