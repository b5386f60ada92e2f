/* ranks: 1 */
/* MPI 5.0 sections 7.8 and 19.1.9: a type can be given a name, a new type has none (the empty string).
 * MPI_Type_match_size finds the predefined type of a class with a size: a real of 8 bytes is 8 bytes long and
 * predefined. */
#include "check.h"

int main(int argc, char **argv)
{
    char name[MPI_MAX_OBJECT_NAME] = "?";
    int length = -1, size = -1, ni, na, nd, combiner = -1;
    MPI_Datatype type, real;
    start(&argc, &argv);
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Type_get_name(type, name, &length);
    CHECK_INT(length, 0);
    CHECK_STRING(name, "");
    MPI_Type_set_name(type, "three ints");
    MPI_Type_get_name(type, name, &length);
    CHECK_STRING(name, "three ints");
    CHECK_INT(length, 10);
    MPI_Type_free(&type);
    CHECK_CALL(MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &real));
    MPI_Type_size(real, &size);
    CHECK_INT(size, 8);
    MPI_Type_get_envelope(real, &ni, &na, &nd, &combiner);
    CHECK_INT(combiner, MPI_COMBINER_NAMED);
    CHECK_CALL(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 2, &real));
    MPI_Type_size(real, &size);
    CHECK_INT(size, 2);
    CHECK_CALL(MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, &real));
    MPI_Type_size(real, &size);
    CHECK_INT(size, 16);
    return finish();
}
