/* ranks: 2 3 4 */
/* MPI 5.0 section 6.2.2: in the all-to-all kind each group gets the data of the other: allgather the other group's
 * blocks, allreduce the reduction over the other group, alltoall block i from remote rank i, reduce_scatter the remote
 * reduction cut over the local ranks, barrier both. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Comm half, inter;
    MPI_Request request;
    int all[4], sum = -1, out[4], in[4], rank, locals, remotes, remote_sum = 0, data = -1;
    start(&argc, &argv);
    int side = world_rank % 2;
    MPI_Comm_split(MPI_COMM_WORLD, side, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 5, &inter);
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_size(inter, &locals);
    MPI_Comm_remote_size(inter, &remotes);
    CHECK_CALL(MPI_Barrier(inter));
    CHECK_CALL(MPI_Allgather(&world_rank, 1, MPI_INT, all, 1, MPI_INT, inter));
    for (int i = 0; i < remotes; i++) {
        CHECK_INT(all[i], 2 * i + 1 - side);
        remote_sum += 2 * i + 1 - side;
    }
    CHECK_CALL(MPI_Allreduce(&world_rank, &sum, 1, MPI_INT, MPI_SUM, inter));
    CHECK_INT(sum, remote_sum);
    for (int i = 0; i < remotes; i++) out[i] = 10 * world_rank + i;
    CHECK_CALL(MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, inter));
    for (int i = 0; i < remotes; i++) CHECK_INT(in[i], 10 * (2 * i + 1 - side) + rank);
    MPI_Iallreduce(&world_rank, &data, 1, MPI_INT, MPI_MIN, inter, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_INT(data, 1 - side);
    /* Both groups must offer equally many elements: locals * remotes of them. */
    int offer[4], mine[4];
    for (int i = 0; i < locals * remotes; i++) offer[i] = world_rank + 100 * i;
    CHECK_CALL(MPI_Reduce_scatter_block(offer, mine, remotes, MPI_INT, MPI_SUM, inter));
    for (int i = 0; i < remotes; i++) CHECK_INT(mine[i], remote_sum + 100 * remotes * (rank * remotes + i));
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    return finish();
}
