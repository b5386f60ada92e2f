/* ranks: 1 */
/* A program from before MPI 4.0 sets the error handler of MPI_COMM_WORLD alone and expects it to decide
 * about calls without a communicator. MPICH and Intel MPI do so; MPI 5.0 section 9.3 names MPI_COMM_SELF,
 * whose handler is still the initial one here. */
#include "check.h"

int main(int argc, char **argv)
{
    int size;
    start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Type_size(MPI_DATATYPE_NULL, &size), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Group_size(MPI_GROUP_NULL, &size), MPI_ERR_GROUP);
    return finish();
}
