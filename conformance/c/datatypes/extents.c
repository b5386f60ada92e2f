/* ranks: 1 */
/* MPI 5.0 section 5.1.7 and 5.1.8: lower bound and extent follow from the type map; MPI_Type_create_resized sets them
 * without moving any data, and the true extent ignores such markers. A repeated type repeats its bounds. */
#include "check.h"

static void bounds(int line, MPI_Datatype type, long lower, long extent, long true_lower, long true_extent)
{
    MPI_Aint got[4];
    MPI_Count large[4];
    MPI_Type_get_extent(type, &got[0], &got[1]);
    MPI_Type_get_true_extent(type, &got[2], &got[3]);
    MPI_Type_get_extent_c(type, &large[0], &large[1]);
    MPI_Type_get_true_extent_c(type, &large[2], &large[3]);
    long wanted[4] = {lower, extent, true_lower, true_extent};
    for (int i = 0; i < 4; i++) {
        check_int(line, "lower, extent, true lower, true extent", got[i], wanted[i]);
        check_int(line, "the same with _c", large[i], wanted[i]);
    }
}

int main(int argc, char **argv)
{
    MPI_Datatype vector, shifted, resized, two, negative;
    start(&argc, &argv);
    MPI_Type_vector(2, 1, 3, MPI_INT, &vector);
    bounds(__LINE__, vector, 0, 16, 0, 16);
    MPI_Type_create_hindexed_block(1, 1, &(MPI_Aint){8}, MPI_INT, &shifted);
    bounds(__LINE__, shifted, 8, 4, 8, 4);
    MPI_Type_create_resized(shifted, -4, 40, &resized);
    bounds(__LINE__, resized, -4, 40, 8, 4);
    MPI_Type_contiguous(2, resized, &two);
    bounds(__LINE__, two, -4, 80, 8, 44);
    MPI_Type_vector(3, 1, -2, MPI_INT, &negative);
    bounds(__LINE__, negative, -16, 20, -16, 20);
    MPI_Type_free(&vector);
    MPI_Type_free(&shifted);
    MPI_Type_free(&resized);
    MPI_Type_free(&two);
    MPI_Type_free(&negative);
    return finish();
}
