/* ranks: 1 */
/* MPI 5.0 section 5.1 (type map): the extent of a struct type is rounded up to the strictest alignment of its basic
 * types. So {double at 0, char at 8} has extent 16 where double is aligned to 8 bytes. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Datatype type;
    MPI_Aint lower = -1, extent = -1;
    start(&argc, &argv);
    struct like { double first; char second; };
    MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 8}, (MPI_Datatype[]){MPI_DOUBLE, MPI_CHAR}, &type);
    MPI_Type_get_extent(type, &lower, &extent);
    CHECK_INT(lower, 0);
    CHECK_INT(extent, sizeof(struct like));
    MPI_Type_get_true_extent(type, &lower, &extent);
    CHECK_INT(extent, 9);
    MPI_Type_free(&type);
    return finish();
}
