/* ranks: 2 */
/* MPI 5.0 sections 7.3 and 9.4: MPI_GROUP_NULL is not a group (MPI_GROUP_EMPTY is): MPI_ERR_GROUP. A group that is not
 * part of the communicator cannot make one. */
#include "check.h"

int main(int argc, char **argv)
{
    int size = -1;
    MPI_Group world, result, none = MPI_GROUP_NULL;
    MPI_Comm comm;
    start(&argc, &argv);
    errors_return();
    CHECK_CLASS(MPI_Group_size(MPI_GROUP_NULL, &size), MPI_ERR_GROUP);
    CHECK_CLASS(MPI_Group_rank(MPI_GROUP_NULL, &size), MPI_ERR_GROUP);
    CHECK_CLASS(MPI_Group_union(MPI_GROUP_NULL, MPI_GROUP_EMPTY, &result), MPI_ERR_GROUP);
    CHECK_CLASS(MPI_Group_incl(MPI_GROUP_NULL, 0, NULL, &result), MPI_ERR_GROUP);
    CHECK_CLASS(MPI_Group_free(&none), MPI_ERR_GROUP);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    CHECK_CLASS(MPI_Comm_create(MPI_COMM_SELF, world, &comm), MPI_ERR_GROUP);
    CHECK_CLASS(MPI_Comm_create(MPI_COMM_SELF, MPI_GROUP_NULL, &comm), MPI_ERR_GROUP);
    MPI_Group_free(&world);
    return finish();
}
