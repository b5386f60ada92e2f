/* ranks: 2 */
/* skip-mpich: it makes a group with the same process twice, and calls a repeated range MPI_ERR_ARG; the class is not in the text */
/* MPI 5.0 section 7.3.2: the ranks given to MPI_Group_incl, MPI_Group_excl and the range forms must be distinct and
 * valid; a repeated one is not a valid rank: MPI_ERR_RANK. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Group world, group;
    start(&argc, &argv);
    errors_return();
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    CHECK_CLASS(MPI_Group_incl(world, 2, (int[]){0, 0}, &group), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Group_excl(world, 2, (int[]){1, 1}, &group), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Group_range_incl(world, 2, (int[][3]){{0, 1, 1}, {1, 1, 1}}, &group), MPI_ERR_RANK);
    MPI_Group_free(&world);
    return finish();
}
