/* ranks: 2 3 */
/* skip-mpich: its target serves locks and accumulates only inside of MPI calls */
/* MPI 5.0 sections 12.5 and 12.7.3: the target of passive synchronisation takes no part in it.
 * Rank 0 sleeps and looks at its memory, without a call of MPI, until locks, puts, gets and
 * accumulates of the others are all done: in the unified model it sees them come (12.4). */
#include "passive_target.h"

int main(int argc, char **argv)
{
    long *base = NULL;
    MPI_Aint at = 0;
    MPI_Win win;
    start(&argc, &argv);
    MPI_Win_allocate(4 * sizeof(long), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    memset(base, 0, 4 * sizeof(long));
    passive_target(win, base, at);
    MPI_Win_free(&win);
    return finish();
}
