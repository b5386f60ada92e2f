/* ranks: 2 4 */
/* expect: fatal root */
/* skip-mpich: it does not notice */
/* MPI 5.0 section 6.4: all processes name the same root. If each names itself all are senders and none receives; they
 * are told in the next collective. */
#include "check.h"

int main(int argc, char **argv)
{
    int data = 0;
    start(&argc, &argv);
    data = world_rank;
    MPI_Bcast(&data, 1, MPI_INT, world_rank, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("not-reached\n");
    return finish();
}
