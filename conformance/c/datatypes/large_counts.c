/* ranks: 1 */
/* MPI 5.0 section 5.1 with large counts: sizes and extents beyond an int are reported by the _c functions, while the
 * int face gives MPI_UNDEFINED for a size it cannot hold. The _c constructors take MPI_Count, and
 * MPI_Type_get_envelope_c counts them apart as large counts. No memory of that size is touched. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Datatype type, vector, two;
    MPI_Count size = -1, lower = -1, extent = -1, ni, na, nl, nd, large[3];
    MPI_Datatype kinds[1];
    int small = 0, combiner = -1;
    start(&argc, &argv);
    CHECK_CALL(MPI_Type_contiguous_c((MPI_Count)3000000000, MPI_DOUBLE, &type));
    CHECK_CALL(MPI_Type_size_c(type, &size));
    CHECK_INT(size, 24000000000LL);
    CHECK_CALL(MPI_Type_size(type, &small));
    CHECK_INT(small, MPI_UNDEFINED);
    MPI_Type_get_extent_c(type, &lower, &extent);
    CHECK_INT(extent, 24000000000LL);
    MPI_Type_get_envelope_c(type, &ni, &na, &nl, &nd, &combiner);
    CHECK_INT(combiner, MPI_COMBINER_CONTIGUOUS);
    CHECK_INT(ni, 0);
    CHECK_INT(na, 0);
    CHECK_INT(nl, 1);
    CHECK_INT(nd, 1);
    CHECK_CALL(MPI_Type_get_contents_c(type, 0, 0, 1, 1, NULL, NULL, large, kinds));
    CHECK_INT(large[0], 3000000000LL);
    CHECK(kinds[0] == MPI_DOUBLE);
    CHECK_CALL(MPI_Type_vector_c(3, 1, (MPI_Count)1 << 32, MPI_INT, &vector));
    MPI_Type_get_extent_c(vector, &lower, &extent);
    CHECK_INT(extent, ((1LL << 33) + 1) * 4);
    MPI_Type_size_c(vector, &size);
    CHECK_INT(size, 12);
    MPI_Type_contiguous(2, type, &two);
    MPI_Type_size_c(two, &size);
    CHECK_INT(size, 48000000000LL);
    MPI_Type_free(&type);
    MPI_Type_free(&vector);
    MPI_Type_free(&two);
    return finish();
}
