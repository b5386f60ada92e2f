/* ranks: 2 */
/* MPI 5.0 sections 6.9.2 and 19.3.5: the Fortran types with a size in their name are usable from C where the library
 * supports them, and MPI_INTEGER4 adds like a 32-bit integer, MPI_REAL8 like a double. A type the library does not
 * support has handle MPI_DATATYPE_NULL or size MPI_UNDEFINED and is passed over. */
#include "check.h"
#include <stdint.h>

static int usable(MPI_Datatype type, int bytes)
{
    int size = -1;
    return type != MPI_DATATYPE_NULL && MPI_Type_size(type, &size) == MPI_SUCCESS && size == bytes;
}

int main(int argc, char **argv)
{
    int32_t integer = 5 + world_rank, sum = 0;
    int64_t wide = (int64_t)1 << 40, wide_sum = 0;
    double real = 1.25, real_sum = 0;
    start(&argc, &argv);
    errors_return();
    integer = 5 + world_rank;
    if (usable(MPI_INTEGER4, 4)) {
        CHECK_CALL(MPI_Allreduce(&integer, &sum, 1, MPI_INTEGER4, MPI_SUM, MPI_COMM_WORLD));
        CHECK_INT(sum, 11);
    }
    if (usable(MPI_INTEGER8, 8)) {
        CHECK_CALL(MPI_Allreduce(&wide, &wide_sum, 1, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD));
        CHECK_INT(wide_sum, (int64_t)1 << 41);
    }
    if (usable(MPI_REAL8, 8)) {
        CHECK_CALL(MPI_Allreduce(&real, &real_sum, 1, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD));
        CHECK_DOUBLE(real_sum, 2.5);
    }
    return finish();
}
