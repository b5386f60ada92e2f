/* ranks: 1 2 */
/* skip-mpich: MPICH 5.0.2 crashes on a negative count of bytes in a list */
/* MPI 5.0 sections 3.2.2 and 9.4: a count is nonnegative, and a negative one is MPI_ERR_COUNT in every collective, of
   whatever type. A process that passes one has not communicated, so all of them can go on. */
#include "check.h"

static void negative(MPI_Datatype type)
{
    char data[64] = {0}, other[64] = {0};
    MPI_Comm comm = MPI_COMM_WORLD;
    CHECK_CLASS(MPI_Bcast(data, -1, type, 0, comm), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Bcast_c(data, -1, type, 0, comm), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Allgather(data, 1, type, other, -1, type, comm), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Allgather(MPI_IN_PLACE, 0, type, other, -1, type, comm), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Alltoall(data, -1, type, other, -1, type, comm), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Gather(data, -1, type, other, -1, type, 0, comm), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Scatter(data, -1, type, other, -1, type, 0, comm), MPI_ERR_COUNT);
}

static void negative_reductions(void)
{
    char data[64] = {0}, other[64] = {0};
    MPI_Comm comm = MPI_COMM_WORLD;
    CHECK_CLASS(MPI_Allreduce(data, other, -1, MPI_INT8_T, MPI_SUM, comm), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Allreduce(MPI_IN_PLACE, other, -1, MPI_BYTE, MPI_BOR, comm), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Reduce(data, other, -1, MPI_INT8_T, MPI_SUM, 0, comm), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Scan(data, other, -1, MPI_UINT8_T, MPI_MAX, comm), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Exscan(data, other, -1, MPI_INT8_T, MPI_MAX, comm), MPI_ERR_COUNT);
}

static void negative_in_lists(void)
{
    char data[64] = {0}, other[64] = {0};
    int counts[2] = {-1, -1}, places[2] = {0, 8};
    MPI_Comm comm = MPI_COMM_WORLD;
    CHECK_CLASS(MPI_Gatherv(data, -1, MPI_BYTE, other, counts, places, MPI_BYTE, 0, comm), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Scatterv(data, counts, places, MPI_BYTE, other, -1, MPI_BYTE, 0, comm), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Allgatherv(data, -1, MPI_BYTE, other, counts, places, MPI_BYTE, comm), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Alltoallv(data, counts, places, MPI_BYTE, other, counts, places, MPI_BYTE, comm), MPI_ERR_COUNT);
}

int main(int argc, char **argv)
{
    MPI_Datatype types[] = {MPI_BYTE, MPI_CHAR, MPI_INT8_T, MPI_PACKED, MPI_SHORT, MPI_DOUBLE};
    int at, sum = 0;
    start(&argc, &argv);
    errors_return();
    for (at = 0; at < (int)(sizeof types / sizeof *types); at++)
        negative(types[at]);
    negative_reductions();
    negative_in_lists();
    MPI_Allreduce(&(int){1}, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_INT(sum, world_size);
    return finish();
}
