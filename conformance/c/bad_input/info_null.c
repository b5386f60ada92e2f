/* ranks: 1 */
/* skip-mpich: it reports MPI_ERR_ARG */
/* MPI 5.0 section 9.4: MPI_ERR_INFO is the class of an invalid info argument, and MPI_INFO_NULL is none where an object
 * is needed. */
#include "check.h"

int main(int argc, char **argv)
{
    int count;
    MPI_Info none = MPI_INFO_NULL;
    start(&argc, &argv);
    errors_return();
    CHECK_CLASS(MPI_Info_set(MPI_INFO_NULL, "a", "b"), MPI_ERR_INFO);
    CHECK_CLASS(MPI_Info_get_nkeys(MPI_INFO_NULL, &count), MPI_ERR_INFO);
    CHECK_CLASS(MPI_Info_free(&none), MPI_ERR_INFO);
    return finish();
}
