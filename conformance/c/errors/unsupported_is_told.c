/* ranks: 2 */
/* skip-mpich: it has dynamic processes */
/* MPI 5.0 section 9.4: what a library does not support is MPI_ERR_UNSUPPORTED_OPERATION or another error, at once; and a
 * program that has asked for codes gets the code, whether or not it looks at it. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Comm made = MPI_COMM_NULL;
    char port[MPI_MAX_PORT_NAME];
    start(&argc, &argv);
    errors_return();
    CHECK_CLASS(MPI_Comm_spawn("./nothing", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &made,
                               MPI_ERRCODES_IGNORE), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK_CLASS(MPI_Open_port(MPI_INFO_NULL, port), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK_CLASS(MPI_Comm_accept("nowhere", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &made), MPI_ERR_UNSUPPORTED_OPERATION);
    return finish();
}
