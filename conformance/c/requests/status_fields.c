/* ranks: 1 */
/* MPI 5.0 section 3.2.5 and 13.3: a status is the user's to write: MPI_Status_set_source, _tag, _error, _elements and
 * _cancelled are read back by the matching getters. Elements of a type that is not contained a whole number of times
 * make MPI_Get_count give MPI_UNDEFINED, while MPI_Get_elements counts the basic ones. Counts beyond an int need the
 * large face, the int face says MPI_UNDEFINED. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Status status;
    MPI_Datatype pair;
    MPI_Count large = 0;
    int value = -1, flag = -1;
    start(&argc, &argv);
    memset(&status, 0, sizeof status);
    CHECK_CALL(MPI_Status_set_source(&status, 11));
    CHECK_CALL(MPI_Status_set_tag(&status, 12));
    CHECK_CALL(MPI_Status_set_error(&status, 13));
    MPI_Status_get_source(&status, &value);
    CHECK_INT(value, 11);
    CHECK_INT(status.MPI_SOURCE, 11);
    MPI_Status_get_tag(&status, &value);
    CHECK_INT(value, 12);
    MPI_Status_get_error(&status, &value);
    CHECK_INT(value, 13);
    MPI_Status_set_cancelled(&status, 1);
    MPI_Test_cancelled(&status, &flag);
    CHECK_INT(flag, 1);
    MPI_Status_set_cancelled(&status, 0);
    MPI_Test_cancelled(&status, &flag);
    CHECK_INT(flag, 0);

    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Status_set_elements(&status, MPI_INT, 7);
    MPI_Get_count(&status, pair, &value);
    CHECK_INT(value, MPI_UNDEFINED);
    MPI_Get_elements(&status, pair, &value);
    CHECK_INT(value, 7);
    MPI_Status_set_elements(&status, MPI_INT, 8);
    MPI_Get_count(&status, pair, &value);
    CHECK_INT(value, 4);
    MPI_Status_set_elements_c(&status, MPI_BYTE, (MPI_Count)5000000000);
    MPI_Get_count_c(&status, MPI_BYTE, &large);
    CHECK_INT(large, 5000000000LL);
    MPI_Get_elements_c(&status, MPI_BYTE, &large);
    CHECK_INT(large, 5000000000LL);
    MPI_Get_count(&status, MPI_BYTE, &value);
    CHECK_INT(value, MPI_UNDEFINED);
    CHECK_INT(status.MPI_SOURCE, 11);
    MPI_Type_free(&pair);
    return finish();
}
