/* ranks: 1 */
/* MPI 5.0 section 19.1.9: MPI_Type_create_f90_real(15, 307) fits an IEEE double and f90_integer(9) a 32-bit integer.
 * The types are predefined: committed already, and the same arguments give the same handle. Their combiner is
 * MPI_COMBINER_F90_REAL and so on, with the arguments as contents. A precision nobody has gives an error. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Datatype real, again, complex, integer;
    int size = -1, ni, na, nd, combiner, arguments[2] = {0};
    start(&argc, &argv);
    errors_return();
    CHECK_CALL(MPI_Type_create_f90_real(15, 307, &real));
    CHECK_CALL(MPI_Type_create_f90_real(15, 307, &again));
    CHECK(real == again);
    MPI_Type_size(real, &size);
    CHECK_INT(size, 8);
    MPI_Type_get_envelope(real, &ni, &na, &nd, &combiner);
    CHECK_INT(combiner, MPI_COMBINER_F90_REAL);
    CHECK_INT(ni, 2);
    CHECK_INT(na + nd, 0);
    CHECK_CALL(MPI_Type_get_contents(real, 2, 0, 0, arguments, NULL, NULL));
    CHECK_INT(arguments[0], 15);
    CHECK_INT(arguments[1], 307);
    CHECK_CALL(MPI_Type_create_f90_complex(6, MPI_UNDEFINED, &complex));
    MPI_Type_size(complex, &size);
    CHECK_INT(size, 8);
    CHECK_CALL(MPI_Type_create_f90_integer(9, &integer));
    MPI_Type_size(integer, &size);
    CHECK_INT(size, 4);
    int in = 0, out = 12345;
    CHECK_CALL(MPI_Sendrecv(&out, 1, integer, 0, 0, &in, 1, integer, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    CHECK_INT(in, 12345);
    CHECK(MPI_Type_create_f90_integer(1000, &integer) != MPI_SUCCESS);
    return finish();
}
