/* ranks: 1 */
/* MPI 5.0 section 5.1.13: the datatypes that MPI_Type_get_contents returns for a derived part are new handles to
 * equivalent types, which the caller frees; from them an equivalent type can be built after the original is gone. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Datatype inner, outer, copy, part;
    int integers[1], position = 0, array[12], out[6], ni, na, nd, combiner;
    char packed[256];
    start(&argc, &argv);
    for (int i = 0; i < 12; i++) array[i] = i;
    MPI_Type_vector(2, 1, 2, MPI_INT, &inner);
    MPI_Type_contiguous(3, inner, &outer);
    MPI_Type_free(&inner);
    MPI_Type_get_contents(outer, 1, 0, 1, integers, NULL, &part);
    MPI_Type_free(&outer);
    MPI_Type_get_envelope(part, &ni, &na, &nd, &combiner);
    CHECK_INT(combiner, MPI_COMBINER_VECTOR);
    CHECK_INT(ni, 3);
    MPI_Type_contiguous(integers[0], part, &copy);
    CHECK_CALL(MPI_Type_free(&part));
    MPI_Type_commit(&copy);
    MPI_Pack(array, 1, copy, packed, sizeof packed, &position, MPI_COMM_SELF);
    int end = position;
    position = 0;
    MPI_Unpack(packed, end, &position, out, 6, MPI_INT, MPI_COMM_SELF);
    /* The vector has extent 3 ints: elements 0 2, 3 5, 6 8. */
    int wanted[6] = {0, 2, 3, 5, 6, 8};
    CHECK_BYTES(out, wanted, sizeof wanted);
    MPI_Type_free(&copy);
    return finish();
}
