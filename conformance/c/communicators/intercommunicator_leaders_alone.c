/* ranks: 3 4 */
/* skip-mpich: it wants the remote group from every process */
/* MPI 5.0 section 7.6.2: of MPI_Intercomm_create_from_groups' arguments, remote_group and remote_leader are significant
 * at the local leader alone, who may be any rank of the group. With MPI_GROUP_EMPTY on either side the call is local
 * and gives MPI_COMM_NULL. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Group world, parts[2];
    MPI_Comm inter;
    int size = -1, remote = -1, sum = -1, first[1][3] = {{0, 1, 1}};
    start(&argc, &argv);
    errors_return();
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, first, &parts[0]);
    MPI_Group_range_excl(world, 1, first, &parts[1]);
    int side = world_rank < 2 ? 0 : 1, others = world_size - 2;
    /* The last of each side leads. */
    int leaders[2] = {1, others - 1}, own = side == 0 ? world_rank : world_rank - 2;
    int leads = own == leaders[side];
    MPI_Group far = leads ? parts[1 - side] : MPI_GROUP_NULL;
    int far_leader = leads ? leaders[1 - side] : -77;
    CHECK_CALL(MPI_Intercomm_create_from_groups(parts[side], leaders[side], far, far_leader, "leaders", MPI_INFO_NULL,
                                                MPI_ERRORS_RETURN, &inter));
    MPI_Comm_size(inter, &size);
    MPI_Comm_remote_size(inter, &remote);
    CHECK_INT(size, side == 0 ? 2 : others);
    CHECK_INT(remote, side == 0 ? others : 2);
    MPI_Allreduce(&world_rank, &sum, 1, MPI_INT, MPI_SUM, inter);
    CHECK_INT(sum, side == 0 ? world_size * (world_size - 1) / 2 - 1 : 1);
    MPI_Comm_free(&inter);

    CHECK_CALL(MPI_Intercomm_create_from_groups(MPI_GROUP_EMPTY, 0, parts[side], 0, "none here", MPI_INFO_NULL,
                                                MPI_ERRORS_RETURN, &inter));
    CHECK(inter == MPI_COMM_NULL);
    inter = MPI_COMM_WORLD;
    CHECK_CALL(MPI_Intercomm_create_from_groups(parts[side], 0, MPI_GROUP_EMPTY, 0, "none there", MPI_INFO_NULL,
                                                MPI_ERRORS_RETURN, &inter));
    CHECK(inter == MPI_COMM_NULL);

    /* A leader without the other group fails, and so does its side; nobody waits. */
    int code = MPI_Intercomm_create_from_groups(parts[side], leaders[side], MPI_GROUP_NULL, 0, "no group", MPI_INFO_NULL,
                                                MPI_ERRORS_RETURN, &inter);
    CHECK_CLASS(code, leads ? MPI_ERR_GROUP : MPI_ERR_OTHER);
    MPI_Group_free(&parts[0]);
    MPI_Group_free(&parts[1]);
    MPI_Group_free(&world);
    return finish();
}
