/* ranks: 1 2 3 */
/* skip-mpich: it refuses null addresses although datatypes without data have nothing there */
/* MPI 5.0 sections 2.5.6 and 6.1: counts may be 0, and datatypes of size 0 may have any count; then nothing is read
 * or written, and addresses and arrays may be null. Each collective still has to bring the ranks together. */
#include "check.h"

#define MAX 8

int main(int argc, char **argv)
{
    int none[MAX] = {0};
    MPI_Datatype empty, types[MAX];
    MPI_Request request;
    start(&argc, &argv);
    errors_return();
    CHECK_CALL(MPI_Type_create_struct(0, NULL, NULL, NULL, &empty));
    CHECK_CALL(MPI_Type_commit(&empty));
    for (int i = 0; i < MAX; i++) types[i] = empty;

    /* Elements without data. */
    CHECK_CALL(MPI_Bcast(NULL, 3, empty, 0, MPI_COMM_WORLD));
    CHECK_CALL(MPI_Gather(NULL, 3, empty, NULL, 3, empty, 0, MPI_COMM_WORLD));
    CHECK_CALL(MPI_Allgather(NULL, 3, empty, NULL, 3, empty, MPI_COMM_WORLD));
    CHECK_CALL(MPI_Alltoall(NULL, 3, empty, NULL, 3, empty, MPI_COMM_WORLD));
    CHECK_CALL(MPI_Alltoallw(NULL, none, none, types, NULL, none, none, types, MPI_COMM_WORLD));

    /* No elements. */
    CHECK_CALL(MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD));
    CHECK_CALL(MPI_Gather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, 0, MPI_COMM_WORLD));
    CHECK_CALL(MPI_Gatherv(NULL, 0, MPI_INT, NULL, none, none, MPI_INT, 0, MPI_COMM_WORLD));
    CHECK_CALL(MPI_Scatter(NULL, 0, MPI_INT, NULL, 0, MPI_INT, 0, MPI_COMM_WORLD));
    CHECK_CALL(MPI_Scatterv(NULL, none, none, MPI_INT, NULL, 0, MPI_INT, 0, MPI_COMM_WORLD));
    CHECK_CALL(MPI_Allgather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD));
    CHECK_CALL(MPI_Allgatherv(NULL, 0, MPI_INT, NULL, none, none, MPI_INT, MPI_COMM_WORLD));
    CHECK_CALL(MPI_Alltoall(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD));
    CHECK_CALL(MPI_Alltoallv(NULL, none, none, MPI_INT, NULL, none, none, MPI_INT, MPI_COMM_WORLD));
    CHECK_CALL(MPI_Reduce(NULL, NULL, 0, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
    CHECK_CALL(MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_CALL(MPI_Reduce_scatter(NULL, NULL, none, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_CALL(MPI_Reduce_scatter_block(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_CALL(MPI_Scan(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_CALL(MPI_Exscan(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_CALL(MPI_Reduce_local(NULL, NULL, 0, MPI_INT, MPI_SUM));

    /* The same when it does not wait, and when it is prepared. */
    CHECK_CALL(MPI_Ibcast(NULL, 3, empty, 0, MPI_COMM_WORLD, &request));
    CHECK_CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_CALL(MPI_Iallreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    CHECK_CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_CALL(MPI_Ialltoallw(NULL, none, none, types, NULL, none, none, types, MPI_COMM_WORLD, &request));
    CHECK_CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_CALL(MPI_Allgather_init(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    for (int round = 0; round < 2; round++) {
        CHECK_CALL(MPI_Start(&request));
        CHECK_CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    CHECK_CALL(MPI_Request_free(&request));
    MPI_Type_free(&empty);
    return finish();
}
