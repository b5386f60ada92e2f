/* ranks: 1 */
/* skip-mpich: it answers MPI_Comm_remote_size and fails an assertion in MPI_Comm_remote_group */
/* MPI 5.0 section 7.6: only an intercommunicator has a remote group and can be merged; for another communicator the
 * calls give MPI_ERR_COMM. */
#include "check.h"

int main(int argc, char **argv)
{
    int size;
    MPI_Comm copy;
    MPI_Group group;
    start(&argc, &argv);
    errors_return();
    CHECK_CLASS(MPI_Comm_remote_size(MPI_COMM_WORLD, &size), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Comm_remote_group(MPI_COMM_WORLD, &group), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Intercomm_merge(MPI_COMM_WORLD, 0, &copy), MPI_ERR_COMM);
    return finish();
}
