/* ranks: 2 3 */
/* MPI 5.0 section 6.9.4 (since 4.1): MPI_Type_get_value_index returns the pair type of two basic types for MPI_MINLOC
 * and MPI_MAXLOC: for a double and an int it is MPI_DOUBLE_INT, for combinations without a name an unnamed predefined
 * type, or MPI_DATATYPE_NULL if there is none. */
#include "check.h"
#include <stdint.h>

int main(int argc, char **argv)
{
    MPI_Datatype named, unnamed;
    start(&argc, &argv);
    CHECK_CALL(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &named));
    CHECK(named == MPI_DOUBLE_INT);
    CHECK_CALL(MPI_Type_get_value_index(MPI_INT, MPI_INT, &named));
    CHECK(named == MPI_2INT);
    CHECK_CALL(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT64_T, &unnamed));
    if (unnamed != MPI_DATATYPE_NULL) {
        struct { double value; int64_t index; } mine = {world_rank % 2 ? 1.0 : 2.0, 100 + world_rank}, best = {0, 0};
        int ni, na, nd, combiner = -1;
        MPI_Allreduce(&mine, &best, 1, unnamed, MPI_MAXLOC, MPI_COMM_WORLD);
        CHECK_DOUBLE(best.value, 2.0);
        CHECK_INT(best.index, 100);
        MPI_Allreduce(&mine, &best, 1, unnamed, MPI_MINLOC, MPI_COMM_WORLD);
        CHECK_DOUBLE(best.value, 1.0);
        CHECK_INT(best.index, 101);
        MPI_Type_get_envelope(unnamed, &ni, &na, &nd, &combiner);
        CHECK_INT(combiner, MPI_COMBINER_VALUE_INDEX);
        CHECK_INT(nd, 2);
    }
    return finish();
}
