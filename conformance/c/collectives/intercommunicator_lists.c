/* ranks: 3 4 6 */
/* MPI 5.0 section 6.2.2 and those of the calls: of an intercommunicator the arrays of counts and displacements of
   MPI_Allgatherv and MPI_Alltoallv have an entry for each member of the other group, no more. Where that is the smaller one,
   nothing beyond them may be read: they end at a page that cannot be. */
#define _DEFAULT_SOURCE
#include "check.h"
#include <sys/mman.h>
#include <unistd.h>

/* Room for so many numbers, after which no memory follows. */
static int *at_the_edge(int numbers)
{
    long page = sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE) != 0) abort();
    return (int *)(pages + page) - numbers;
}

int main(int argc, char **argv)
{
    MPI_Comm local, inter;
    int rank, remotes, all[6], out[6], in[6];
    start(&argc, &argv);
    /* One rank against all others. */
    int side = world_rank == 0 ? 0 : 1;
    MPI_Comm_split(MPI_COMM_WORLD, side, 0, &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - side, 5, &inter);
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_remote_size(inter, &remotes);
    int *counts = at_the_edge(remotes), *places = at_the_edge(remotes);
    int *sent = at_the_edge(remotes), *sent_from = at_the_edge(remotes);
    for (int i = 0; i < remotes; i++) {
        counts[i] = sent[i] = 1;
        places[i] = i;
        sent_from[i] = remotes - 1 - i;
        out[sent_from[i]] = 10 * world_rank + i;
        all[i] = in[i] = -1;
    }
    CHECK_CALL(MPI_Allgatherv(&world_rank, 1, MPI_INT, all, counts, places, MPI_INT, inter));
    CHECK_CALL(MPI_Alltoallv(out, sent, sent_from, MPI_INT, in, counts, places, MPI_INT, inter));
    for (int i = 0; i < remotes; i++) {
        int other = side == 0 ? i + 1 : 0;
        CHECK_INT(all[i], other);
        CHECK_INT(in[i], 10 * other + rank);
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
    return finish();
}
