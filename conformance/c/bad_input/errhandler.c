/* ranks: 1 */
/* MPI 5.0 section 9.4: MPI_ERRHANDLER_NULL is not a handler: MPI_ERR_ERRHANDLER, for setting as well as for freeing. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Errhandler none = MPI_ERRHANDLER_NULL;
    start(&argc, &argv);
    errors_return();
    CHECK_CLASS(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRHANDLER_NULL), MPI_ERR_ERRHANDLER);
    CHECK_CLASS(MPI_Errhandler_free(&none), MPI_ERR_ERRHANDLER);
    return finish();
}
