/* ranks: 3 */
/* MPI 5.0 section 7.3.1: MPI_Group_compare gives MPI_IDENT for the same members in the same order, MPI_SIMILAR for
 * another order, MPI_UNEQUAL otherwise. Translating a rank that is not a member gives MPI_UNDEFINED, and MPI_PROC_NULL
 * stays MPI_PROC_NULL. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Group world, same, turned, part;
    int result = -1, in[4] = {0, 1, 2, MPI_PROC_NULL}, out[4], size = -1, rank = -7;
    start(&argc, &argv);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 3, (int[]){0, 1, 2}, &same);
    MPI_Group_incl(world, 3, (int[]){2, 1, 0}, &turned);
    MPI_Group_incl(world, 1, (int[]){1}, &part);
    MPI_Group_compare(world, same, &result);
    CHECK_INT(result, MPI_IDENT);
    MPI_Group_compare(world, turned, &result);
    CHECK_INT(result, MPI_SIMILAR);
    MPI_Group_compare(world, part, &result);
    CHECK_INT(result, MPI_UNEQUAL);
    MPI_Group_compare(MPI_GROUP_EMPTY, MPI_GROUP_EMPTY, &result);
    CHECK_INT(result, MPI_IDENT);
    MPI_Group_translate_ranks(turned, 4, in, part, out);
    CHECK_INT(out[0], MPI_UNDEFINED);
    CHECK_INT(out[1], 0);
    CHECK_INT(out[2], MPI_UNDEFINED);
    CHECK_INT(out[3], MPI_PROC_NULL);
    MPI_Group_size(MPI_GROUP_EMPTY, &size);
    CHECK_INT(size, 0);
    MPI_Group_rank(MPI_GROUP_EMPTY, &rank);
    CHECK_INT(rank, MPI_UNDEFINED);
    MPI_Group_rank(turned, &rank);
    CHECK_INT(rank, 2 - world_rank);
    MPI_Group_free(&same);
    MPI_Group_free(&turned);
    MPI_Group_free(&part);
    MPI_Group_free(&world);
    return finish();
}
