/* ranks: 1 */
/* skip-mpich: it takes the outermost element as the bound although a marker is present (section 5.1.6 wants the markers alone) */
/* MPI 5.0 section 5.1.6: a resized type carries a lower-bound and an upper-bound marker, and the bounds of a type map
 * that has such markers are the least and the greatest of them, whatever other elements reach further. Here the markers
 * lie at -4 and 36, the char at 100 does not count; the true extent knows no markers. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Datatype resized, type;
    MPI_Aint lower, extent;
    start(&argc, &argv);
    MPI_Type_create_resized(MPI_INT, -4, 40, &resized);
    MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 100}, (MPI_Datatype[]){resized, MPI_CHAR}, &type);
    MPI_Type_get_extent(type, &lower, &extent);
    CHECK_INT(lower, -4);
    CHECK_INT(extent, 40);
    MPI_Type_get_true_extent(type, &lower, &extent);
    CHECK_INT(lower, 0);
    CHECK_INT(extent, 101);
    MPI_Type_free(&resized);
    MPI_Type_free(&type);
    return finish();
}
