/* ranks: 4 */
/* MPI 5.0 section 7.3.2: a range (first, last, stride) names first, first + stride, ... not beyond last; the stride may
 * be negative. */
#include "check.h"

int main(int argc, char **argv)
{
    int up[1][3] = {{0, 3, 2}}, down[2][3] = {{3, 2, -1}, {0, 0, 5}}, size = -1, rank = -1, out[4], in[4] = {0, 1, 2, 3};
    MPI_Group world, group;
    start(&argc, &argv);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, up, &group);
    MPI_Group_size(group, &size);
    CHECK_INT(size, 2);
    MPI_Group_rank(group, &rank);
    CHECK_INT(rank, world_rank % 2 ? MPI_UNDEFINED : world_rank / 2);
    MPI_Group_free(&group);
    MPI_Group_range_incl(world, 2, down, &group);
    MPI_Group_size(group, &size);
    CHECK_INT(size, 3);
    MPI_Group_translate_ranks(group, 3, in, world, out);
    CHECK_INT(out[0], 3);
    CHECK_INT(out[1], 2);
    CHECK_INT(out[2], 0);
    MPI_Group_free(&group);
    MPI_Group_range_excl(world, 1, up, &group);
    MPI_Group_translate_ranks(group, 2, in, world, out);
    CHECK_INT(out[0], 1);
    CHECK_INT(out[1], 3);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    return finish();
}
