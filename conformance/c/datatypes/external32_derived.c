/* ranks: 1 */
/* skip-mpich: 5.0.2 dies of an illegal instruction when it packs a struct of different basic types in external32 */
/* MPI 5.0 section 5.3: packing a derived type in external32 converts each basic element, in type-map order, and leaves
 * gaps out. */
#include "check.h"

int main(int argc, char **argv)
{
    static const unsigned char golden[] = {0, 1, 0, 0, 0, 2, 0, 3, 0, 0, 0, 4};
    struct item { int number; short small; } items[2] = {{2, 1}, {4, 3}}, in[2];
    unsigned char packed[32];
    MPI_Datatype raw, type;
    MPI_Aint position = 0;
    start(&argc, &argv);
    /* The short comes first in the type map although it lies second in memory. */
    MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){4, 0}, (MPI_Datatype[]){MPI_SHORT, MPI_INT}, &raw);
    MPI_Type_create_resized(raw, 0, sizeof(struct item), &type);
    MPI_Type_commit(&type);
    CHECK_CALL(MPI_Pack_external("external32", items, 2, type, packed, sizeof packed, &position));
    CHECK_INT(position, sizeof golden);
    CHECK_BYTES(packed, golden, sizeof golden);
    memset(in, 0, sizeof in);
    position = 0;
    CHECK_CALL(MPI_Unpack_external("external32", packed, sizeof golden, &position, in, 2, type));
    for (int i = 0; i < 2; i++) {
        CHECK_INT(in[i].number, items[i].number);
        CHECK_INT(in[i].small, items[i].small);
    }
    MPI_Type_free(&raw);
    MPI_Type_free(&type);
    return finish();
}
