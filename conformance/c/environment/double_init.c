/* ranks: 1 */
/* expect: fatal */
/* MPI 5.0 chapter 11, MPI_Init: the world model is initialised at most once, a second call is erroneous. The error is
 * raised on MPI_COMM_SELF's handler, which is MPI_ERRORS_ARE_FATAL unless changed. */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Init(&argc, &argv);
    printf("not-reached\n");
    return finish();
}
