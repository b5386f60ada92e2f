/* ranks: 1 2 3 */
/* MPI 5.0 section 6.2.2 and section 2.3, aliasing: the memory that a collective reads and the memory that it writes are
 * apart unless MPI_IN_PLACE says otherwise; a call that can see that they are not returns MPI_ERR_BUFFER. Blocks of one
 * side may lie between those of the other. */
#include "check.h"

#define BUFFER MPI_ERR_BUFFER

static MPI_Request request;

/* Calls of one rank alone, with one buffer for both sides. */
static void refused(int *both)
{
    int count[1] = {2}, at[1] = {1}, bytes[1] = {sizeof(int)};
    MPI_Datatype type[1] = {MPI_INT};
    MPI_Comm comm = MPI_COMM_SELF;
    int *own = both + 1;
    CHECK_CLASS(MPI_Gather(both, 2, MPI_INT, both, 2, MPI_INT, 0, comm), BUFFER);
    CHECK_CLASS(MPI_Gatherv(own, 2, MPI_INT, both, count, at, MPI_INT, 0, comm), BUFFER);
    CHECK_CLASS(MPI_Scatterv(both, count, at, MPI_INT, own, 2, MPI_INT, 0, comm), BUFFER);
    CHECK_CLASS(MPI_Allgatherv(own, 2, MPI_INT, both, count, at, MPI_INT, comm), BUFFER);
    CHECK_CLASS(MPI_Alltoallv(both, count, at, MPI_INT, both, count, at, MPI_INT, comm), BUFFER);
    CHECK_CLASS(MPI_Alltoallw(both, count, bytes, type, both, count, bytes, type, comm), BUFFER);
    CHECK_CLASS(MPI_Igatherv(own, 2, MPI_INT, both, count, at, MPI_INT, 0, comm, &request), BUFFER);
    CHECK_CLASS(MPI_Iscatterv(both, count, at, MPI_INT, own, 2, MPI_INT, 0, comm, &request), BUFFER);
    CHECK_CLASS(MPI_Ialltoallv(both, count, at, MPI_INT, both, count, at, MPI_INT, comm, &request), BUFFER);
    count[0] = 0;
    CHECK_CALL(MPI_Alltoallv(both, count, at, MPI_INT, own, count, at, MPI_INT, comm));
}

/* Every rank sends elements of even places of an array and receives in odd ones. */
static void interleaved(void)
{
    int both[16], counts[8], even[8], *odd = both + 1;
    for (int peer = 0; peer < world_size; peer++) {
        both[2 * peer] = 100 * world_rank + peer;
        both[2 * peer + 1] = -1;
        counts[peer] = 1;
        even[peer] = 2 * peer;
    }
    CHECK_CALL(MPI_Alltoallv(both, counts, even, MPI_INT, odd, counts, even, MPI_INT, MPI_COMM_WORLD));
    for (int peer = 0; peer < world_size; peer++) {
        CHECK_INT(both[2 * peer], 100 * world_rank + peer);
        CHECK_INT(both[2 * peer + 1], 100 * peer + world_rank);
    }
    CHECK_CALL(MPI_Allgatherv(&both[0], 1, MPI_INT, odd, counts, even, MPI_INT, MPI_COMM_WORLD));
    for (int peer = 0; peer < world_size; peer++)
        CHECK_INT(both[2 * peer + 1], 100 * peer);
}

int main(int argc, char **argv)
{
    int both[8] = {0};
    start(&argc, &argv);
    errors_return();
    refused(both);
    interleaved();
    return finish();
}
