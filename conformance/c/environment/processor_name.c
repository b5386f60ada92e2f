/* ranks: 1 2 */
/* MPI 5.0 chapter 9, MPI_Get_processor_name: the name is a null-terminated string, resultlen its length without the
 * null, and the length is less than MPI_MAX_PROCESSOR_NAME. */
#include "check.h"

int main(int argc, char **argv)
{
    char name[MPI_MAX_PROCESSOR_NAME];
    int length = -1;
    start(&argc, &argv);
    memset(name, 'x', sizeof name);
    CHECK_CALL(MPI_Get_processor_name(name, &length));
    CHECK(length > 0 && length < MPI_MAX_PROCESSOR_NAME);
    CHECK_INT(name[length], 0);
    CHECK_INT(strlen(name), length);
    return finish();
}
