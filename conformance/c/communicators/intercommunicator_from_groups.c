/* ranks: 2 3 */
/* MPI 5.0 section 7.6.2 (since 4.0): MPI_Intercomm_create_from_groups joins two groups without any communicator before it. Every
 * process gives its own group as the local one; the leaders are ranks in these groups. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Group world, zero, others;
    MPI_Comm inter;
    int size = -1, remote = -1, sum = -1;
    start(&argc, &argv);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, (int[]){0}, &zero);
    MPI_Group_excl(world, 1, (int[]){0}, &others);
    MPI_Group local = world_rank == 0 ? zero : others, far = world_rank == 0 ? others : zero;
    CHECK_CALL(MPI_Intercomm_create_from_groups(local, 0, far, 0, "conformance", MPI_INFO_NULL, MPI_ERRORS_RETURN, &inter));
    MPI_Comm_size(inter, &size);
    MPI_Comm_remote_size(inter, &remote);
    CHECK_INT(size, world_rank == 0 ? 1 : world_size - 1);
    CHECK_INT(remote, world_rank == 0 ? world_size - 1 : 1);
    MPI_Allreduce(&world_rank, &sum, 1, MPI_INT, MPI_SUM, inter);
    CHECK_INT(sum, world_rank == 0 ? world_size * (world_size - 1) / 2 : 0);
    MPI_Comm_free(&inter);
    MPI_Group_free(&zero);
    MPI_Group_free(&others);
    MPI_Group_free(&world);
    return finish();
}
