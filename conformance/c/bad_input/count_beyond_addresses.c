/* ranks: 1 2 */
/* skip-mpich: not tried there; without a check of the count memory far beyond the buffers is touched */
/* MPI 5.0 sections 6 and 9.4: a count of more bytes than a process can address is an error of the call, MPI_ERR_COUNT, and
   not a reason to touch memory. A process that passes one has not communicated, so all of them can go on. */
#include "check.h"

#define FAR ((MPI_Count)1 << 50)

static char data[64], other[64];

static void moving(MPI_Comm comm)
{
    CHECK_CLASS(MPI_Bcast_c(data, FAR, MPI_BYTE, 0, comm), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Allgather_c(data, FAR, MPI_BYTE, other, FAR, MPI_BYTE, comm), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Allgather_c(MPI_IN_PLACE, 0, MPI_BYTE, other, FAR, MPI_BYTE, comm), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Alltoall_c(data, FAR, MPI_BYTE, other, FAR, MPI_BYTE, comm), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Gather_c(data, FAR, MPI_BYTE, other, FAR, MPI_BYTE, 0, comm), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Scatter_c(data, FAR, MPI_BYTE, other, FAR, MPI_BYTE, 0, comm), MPI_ERR_COUNT);
}

static void combining(MPI_Comm comm)
{
    CHECK_CLASS(MPI_Allreduce_c(data, other, FAR, MPI_DOUBLE, MPI_SUM, comm), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Allreduce_c(MPI_IN_PLACE, other, FAR, MPI_DOUBLE, MPI_SUM, comm), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Reduce_c(data, other, FAR, MPI_DOUBLE, MPI_SUM, 0, comm), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Scan_c(data, other, FAR, MPI_DOUBLE, MPI_SUM, comm), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Exscan_c(data, other, FAR, MPI_DOUBLE, MPI_SUM, comm), MPI_ERR_COUNT);
}

static void in_lists(MPI_Comm comm)
{
    MPI_Count counts[2] = {FAR, FAR};
    MPI_Aint places[2] = {0, 8};
    CHECK_CLASS(MPI_Gatherv_c(data, FAR, MPI_BYTE, other, counts, places, MPI_BYTE, 0, comm), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Scatterv_c(data, counts, places, MPI_BYTE, other, FAR, MPI_BYTE, 0, comm), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Allgatherv_c(data, FAR, MPI_BYTE, other, counts, places, MPI_BYTE, comm), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Allgatherv_c(MPI_IN_PLACE, 0, MPI_BYTE, other, counts, places, MPI_BYTE, comm), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Alltoallv_c(data, counts, places, MPI_BYTE, other, counts, places, MPI_BYTE, comm), MPI_ERR_COUNT);
}

int main(int argc, char **argv)
{
    int sum = 0;
    start(&argc, &argv);
    errors_return();
    moving(MPI_COMM_WORLD);
    combining(MPI_COMM_WORLD);
    in_lists(MPI_COMM_WORLD);
    MPI_Allreduce(&(int){1}, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_INT(sum, world_size);
    return finish();
}
