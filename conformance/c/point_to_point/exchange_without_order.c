/* ranks: 2 3 4 */
/* MPI 5.0 section 3.7.4, progress: if receives are posted first and then sends started everywhere, all complete, whatever the
 * sizes, since no send waits for something that is not there already. Every rank exchanges with every other, small and large. */
#include "check.h"

enum { COUNT = 60000 };

int main(int argc, char **argv)
{
    static int in[4][COUNT], out[4][COUNT], small_in[4], small_out[4];
    MPI_Request requests[16];
    int n = 0;
    start(&argc, &argv);
    for (int r = 0; r < world_size; r++) {
        small_out[r] = 10 * world_rank + r;
        for (int i = 0; i < COUNT; i++) out[r][i] = 1000 * world_rank + r + i;
        MPI_Irecv(in[r], COUNT, MPI_INT, r, 1, MPI_COMM_WORLD, &requests[n++]);
        MPI_Irecv(&small_in[r], 1, MPI_INT, r, 2, MPI_COMM_WORLD, &requests[n++]);
    }
    for (int r = 0; r < world_size; r++) {
        MPI_Isend(out[r], COUNT, MPI_INT, r, 1, MPI_COMM_WORLD, &requests[n++]);
        MPI_Isend(&small_out[r], 1, MPI_INT, r, 2, MPI_COMM_WORLD, &requests[n++]);
    }
    CHECK_CALL(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
    for (int r = 0; r < world_size; r++) {
        int wrong = 0;
        for (int i = 0; i < COUNT; i++) wrong += in[r][i] != 1000 * r + world_rank + i;
        CHECK_INT(wrong, 0);
        CHECK_INT(small_in[r], 10 * r + world_rank);
    }
    return finish();
}
