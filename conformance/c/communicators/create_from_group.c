/* ranks: 2 3 */
/* MPI 5.0 section 7.4.2: MPI_Comm_create_from_group makes a communicator without a parent; calls with different string
 * tags are told apart. The error handler given becomes that of the new communicator. The empty group gives
 * MPI_COMM_NULL. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Group world;
    MPI_Comm first, second, none;
    MPI_Errhandler handler;
    int sum = -1, result = -1;
    start(&argc, &argv);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    CHECK_CALL(MPI_Comm_create_from_group(world, "first", MPI_INFO_NULL, MPI_ERRORS_RETURN, &first));
    CHECK_CALL(MPI_Comm_create_from_group(world, "second", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &second));
    MPI_Comm_get_errhandler(first, &handler);
    CHECK(handler == MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&handler);
    MPI_Comm_compare(first, second, &result);
    CHECK_INT(result, MPI_CONGRUENT);
    MPI_Allreduce(&world_rank, &sum, 1, MPI_INT, MPI_SUM, first);
    CHECK_INT(sum, world_size * (world_size - 1) / 2);
    CHECK_CALL(MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "none", MPI_INFO_NULL, MPI_ERRORS_RETURN, &none));
    CHECK(none == MPI_COMM_NULL);
    MPI_Comm_free(&first);
    MPI_Comm_free(&second);
    MPI_Group_free(&world);
    return finish();
}
