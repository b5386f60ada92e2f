/* ranks: 1 */
/* MPI 5.0 section 9.5 (since 4.1): strings, codes and classes that were added can be removed again in that order;
 * removing a predefined one, or a class that still has codes, is an error. */
#include "check.h"

int main(int argc, char **argv)
{
    int class, code;
    start(&argc, &argv);
    errors_return();
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, "soon gone");
    CHECK(MPI_Remove_error_class(class) != MPI_SUCCESS);
    CHECK_CALL(MPI_Remove_error_string(code));
    CHECK_CALL(MPI_Remove_error_code(code));
    CHECK_CALL(MPI_Remove_error_class(class));
    CHECK(MPI_Remove_error_class(MPI_ERR_ARG) != MPI_SUCCESS);
    CHECK(MPI_Remove_error_code(MPI_ERR_ARG) != MPI_SUCCESS);
    CHECK(MPI_Remove_error_string(MPI_ERR_ARG) != MPI_SUCCESS);
    return finish();
}
