/* ranks: 1 */
/* MPI 5.0 sections 4.1.2 and 5.1.6: blocks of a type may lie at any byte. Programs that build one type from another by its
 * extent (mpi4py's description of types for numpy does) need that the new extent has room for all elements of the old
 * type, each with its own extent, although the padding of section 5.1.6 follows from the entries alone. */
#include "check.h"

static MPI_Aint extent_of(MPI_Datatype type)
{
    MPI_Aint lb, extent;
    MPI_Type_get_extent(type, &lb, &extent);
    return extent;
}

int main(int argc, char **argv)
{
    const MPI_Datatype basics[] = {MPI_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE, MPI_C_DOUBLE_COMPLEX, MPI_LONG_DOUBLE};
    start(&argc, &argv);
    for (size_t i = 0; i < sizeof basics / sizeof basics[0]; i++) {
        MPI_Aint size = extent_of(basics[i]), places[3];
        int lengths[3] = {4, 4, 4}, one = 1;
        MPI_Aint zero = 0;
        MPI_Datatype inner, outer, indexed, again;
        MPI_Type_create_hvector(3, 4, 6 * size + 1, basics[i], &inner);
        CHECK(extent_of(inner) >= 2 * (6 * size + 1) + 4 * size);
        MPI_Type_create_hvector(2, 3, 4 * extent_of(inner) + 1, inner, &outer);
        CHECK(extent_of(outer) >= 4 * extent_of(inner) + 1 + 3 * extent_of(inner));
        for (int j = 0; j < 3; j++) places[j] = j * 6 * size + 1;
        MPI_Type_create_hindexed(3, lengths, places, basics[i], &indexed);
        CHECK(extent_of(indexed) >= 16 * size);
        MPI_Type_create_hindexed(1, &one, &zero, indexed, &again);
        CHECK_INT(extent_of(again), extent_of(indexed));
        MPI_Type_free(&inner);
        MPI_Type_free(&outer);
        MPI_Type_free(&indexed);
        MPI_Type_free(&again);
    }
    return finish();
}
