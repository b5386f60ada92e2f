/* ranks: 2 3 4 */
/* MPI 5.0 section 7.6: an intercommunicator joins two disjoint groups; size and rank are those of the local group,
 * messages go to ranks of the remote group. Merging puts the group that said high = 0 first. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Comm half, inter, merged, twin;
    MPI_Group remote;
    int flag = -1, size = -1, rank = -1, out, in = -1, result = -1;
    MPI_Status status;
    start(&argc, &argv);
    int side = world_rank % 2, locals = side ? world_size / 2 : (world_size + 1) / 2, remotes = world_size - locals;
    MPI_Comm_split(MPI_COMM_WORLD, side, 0, &half);
    CHECK_CALL(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 5, &inter));
    MPI_Comm_test_inter(inter, &flag);
    CHECK_INT(flag, 1);
    MPI_Comm_size(inter, &size);
    CHECK_INT(size, locals);
    MPI_Comm_remote_size(inter, &size);
    CHECK_INT(size, remotes);
    MPI_Comm_rank(inter, &rank);
    CHECK_INT(rank, world_rank / 2);
    MPI_Comm_remote_group(inter, &remote);
    MPI_Group_size(remote, &size);
    CHECK_INT(size, remotes);
    MPI_Group_free(&remote);
    if (rank == 0) {
        out = 100 + side;
        MPI_Sendrecv(&out, 1, MPI_INT, 0, 1, &in, 1, MPI_INT, MPI_ANY_SOURCE, 1, inter, &status);
        CHECK_INT(in, 101 - side);
        CHECK_INT(status.MPI_SOURCE, 0);
    }
    MPI_Comm_dup(inter, &twin);
    MPI_Comm_compare(inter, twin, &result);
    CHECK_INT(result, MPI_CONGRUENT);
    /* The odd ranks come first. */
    CHECK_CALL(MPI_Intercomm_merge(inter, !side, &merged));
    MPI_Comm_rank(merged, &rank);
    MPI_Comm_size(merged, &size);
    CHECK_INT(size, world_size);
    CHECK_INT(rank, side ? world_rank / 2 : world_size / 2 + world_rank / 2);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&twin);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    return finish();
}
