/* ranks: 3 4 */
/* MPI 5.0 section 7.4.2: MPI_Comm_create is collective over the parent and gives MPI_COMM_NULL to those outside the
 * group; disjoint groups may be passed in one call, each process passing its own. MPI_Comm_create_group is called by
 * the group's members alone. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Group world, part;
    MPI_Comm comm;
    int size = -1, sum = -1;
    start(&argc, &argv);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 2, (int[]){2, 0}, &part);
    CHECK_CALL(MPI_Comm_create(MPI_COMM_WORLD, part, &comm));
    if (world_rank == 0 || world_rank == 2) {
        int rank = -1;
        MPI_Comm_rank(comm, &rank);
        CHECK_INT(rank, world_rank == 2 ? 0 : 1);
        MPI_Comm_free(&comm);
        /* Only the members take part. */
        CHECK_CALL(MPI_Comm_create_group(MPI_COMM_WORLD, part, 33, &comm));
        MPI_Allreduce(&world_rank, &sum, 1, MPI_INT, MPI_SUM, comm);
        CHECK_INT(sum, 2);
        MPI_Comm_free(&comm);
    } else {
        CHECK(comm == MPI_COMM_NULL);
    }
    MPI_Group_free(&part);
    /* Two disjoint groups at once: {0} and all the others. */
    if (world_rank == 0) MPI_Group_incl(world, 1, (int[]){0}, &part);
    else MPI_Group_excl(world, 1, (int[]){0}, &part);
    CHECK_CALL(MPI_Comm_create(MPI_COMM_WORLD, part, &comm));
    MPI_Comm_size(comm, &size);
    CHECK_INT(size, world_rank == 0 ? 1 : world_size - 1);
    MPI_Comm_free(&comm);
    MPI_Group_free(&part);
    MPI_Group_free(&world);
    return finish();
}
