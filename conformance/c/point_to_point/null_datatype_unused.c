/* ranks: 2 */
/* skip-mpich: release 5.0.2 aborts in some of these calls */
/* MPI 5.0 sections 3.2.2 and 3.10: a message of 0 elements has no data, and a message to or from MPI_PROC_NULL none
 * either: the datatype is not used. Programs pass MPI_DATATYPE_NULL then, as part of arguments that were never set, and
 * the libraries they come from take it. Where elements are to move, it is MPI_ERR_TYPE. */
#include "check.h"

int main(int argc, char **argv)
{
    int data = 7, counts[2] = {0, 0}, places[2] = {0, 0}, value = 0, got = -1;
    const MPI_Datatype none = MPI_DATATYPE_NULL;
    const MPI_Datatype types[2] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
    MPI_Status status;
    MPI_Request request;
    MPI_Win win;
    start(&argc, &argv);
    errors_return();
    const MPI_Comm world = MPI_COMM_WORLD;
    const int peer = 1 - world_rank;
    CHECK_CALL(MPI_Sendrecv(NULL, 0, none, peer, 1, NULL, 0, none, peer, 1, world, &status));
    CHECK_INT(status.MPI_SOURCE, peer);
    CHECK_CALL(MPI_Isend(&data, 0, none, peer, 2, world, &request));
    CHECK_CALL(MPI_Recv(&data, 0, none, peer, 2, world, MPI_STATUS_IGNORE));
    CHECK_CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_CALL(MPI_Send(&data, 5, none, MPI_PROC_NULL, 3, world));
    CHECK_CALL(MPI_Recv(&data, 5, none, MPI_PROC_NULL, 3, world, &status));
    CHECK_INT(status.MPI_SOURCE, MPI_PROC_NULL);
    CHECK_CALL(MPI_Bcast(&data, 0, none, 0, world));
    CHECK_CALL(MPI_Allreduce(&data, &got, 0, none, MPI_SUM, world));
    CHECK_CALL(MPI_Gatherv(&data, 0, none, &got, counts, places, none, 0, world));
    CHECK_CALL(MPI_Alltoallw(&data, counts, places, types, &got, counts, places, types, world));
    MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, world, &win);
    MPI_Win_fence(0, win);
    CHECK_CALL(MPI_Put(&data, 0, none, peer, 0, 0, none, win));
    CHECK_CALL(MPI_Get(&data, 1, none, MPI_PROC_NULL, 0, 1, none, win));
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    CHECK_INT(data, 7);
    CHECK_INT(got, -1);
    CHECK_CLASS(MPI_Send(&data, 1, none, peer, 4, world), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Sendrecv_replace(&data, 1, none, MPI_PROC_NULL, 4, peer, 4, world, &status), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Bcast(&data, 1, none, 0, world), MPI_ERR_TYPE);
    return finish();
}
