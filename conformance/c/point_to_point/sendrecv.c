/* ranks: 1 2 3 4 */
/* MPI 5.0 section 3.10: MPI_Sendrecv sends and receives at once, so a ring in which everybody calls it cannot deadlock;
 * with _replace the received message takes the place of the sent one. The two halves may use different tags, counts and
 * types. */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int next = (world_rank + 1) % world_size, previous = (world_rank + world_size - 1) % world_size, count = -1;
    int out[2] = {world_rank, world_rank + 100}, in[4] = {-1, -1, -1, -1};
    MPI_Status status;
    CHECK_CALL(MPI_Sendrecv(out, 2, MPI_INT, next, world_rank, in, 4, MPI_INT, previous, previous, MPI_COMM_WORLD, &status));
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK_INT(count, 2);
    CHECK_INT(in[0], previous);
    CHECK_INT(in[1], previous + 100);
    CHECK_INT(in[2], -1);
    CHECK_INT(status.MPI_TAG, previous);
    CHECK_INT(status.MPI_SOURCE, previous);

    static double large[30000];
    for (int i = 0; i < 30000; i++) large[i] = world_rank * 1000.0 + i;
    CHECK_CALL(MPI_Sendrecv_replace(large, 30000, MPI_DOUBLE, next, 1, previous, 1, MPI_COMM_WORLD, &status));
    for (int i = 0; i < 30000; i += 7) CHECK_DOUBLE(large[i], previous * 1000.0 + i);
    CHECK_INT(status.MPI_SOURCE, previous);

    double kept = 5.0;
    CHECK_CALL(MPI_Sendrecv_replace(&kept, 1, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status));
    CHECK_DOUBLE(kept, 5.0);
    CHECK_INT(status.MPI_SOURCE, MPI_PROC_NULL);
    return finish();
}
