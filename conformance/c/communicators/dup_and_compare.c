/* ranks: 1 2 3 */
/* MPI 5.0 section 7.4: MPI_Comm_compare: the same handle is MPI_IDENT, a duplicate MPI_CONGRUENT, the same members in
 * another order MPI_SIMILAR, others MPI_UNEQUAL. A duplicate has the same size and rank, and freeing it sets the handle
 * to MPI_COMM_NULL. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Comm twin, turned;
    int result = -1, rank = -1, size = -1, flag = -1;
    start(&argc, &argv);
    CHECK_CALL(MPI_Comm_dup(MPI_COMM_WORLD, &twin));
    MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &result);
    CHECK_INT(result, MPI_IDENT);
    MPI_Comm_compare(MPI_COMM_WORLD, twin, &result);
    CHECK_INT(result, MPI_CONGRUENT);
    MPI_Comm_rank(twin, &rank);
    MPI_Comm_size(twin, &size);
    CHECK_INT(rank, world_rank);
    CHECK_INT(size, world_size);
    MPI_Comm_test_inter(twin, &flag);
    CHECK_INT(flag, 0);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &turned);
    MPI_Comm_rank(turned, &rank);
    CHECK_INT(rank, world_size - 1 - world_rank);
    MPI_Comm_compare(MPI_COMM_WORLD, turned, &result);
    CHECK_INT(result, world_size == 1 ? MPI_CONGRUENT : MPI_SIMILAR);
    MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_SELF, &result);
    CHECK_INT(result, world_size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL);
    MPI_Comm_free(&twin);
    MPI_Comm_free(&turned);
    CHECK(twin == MPI_COMM_NULL);
    return finish();
}
