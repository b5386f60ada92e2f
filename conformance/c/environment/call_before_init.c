/* ranks: 1 */
/* expect: fatal MPI_Comm_size */
/* MPI 5.0 chapter 11: MPI_Comm_size is not among the functions that are always available. Before initialisation the
 * initial error handler applies, which is MPI_ERRORS_ARE_FATAL, so the process ends with an error. */
#include "check.h"

int main(void)
{
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("not-reached\n");
    return 0;
}
