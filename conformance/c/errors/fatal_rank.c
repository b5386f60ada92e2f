/* ranks: 1 2 */
/* expect: fatal MPI_Send rank */
/* MPI 5.0 section 9.3: the handler of MPI_COMM_WORLD is MPI_ERRORS_ARE_FATAL until changed: an error ends the job with
 * a message and a failure status. Text is a matter of quality; function and cause should be in it. */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Send(&world_rank, 1, MPI_INT, world_size + 3, 0, MPI_COMM_WORLD);
    printf("not-reached\n");
    return finish();
}
