/* ranks: 1 2 3 4 */
/* MPI 5.0 section 6.3: no process leaves a barrier before all have entered it. The last rank joins only after all the
 * others said that their tests of the nonblocking barrier found it incomplete. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Request request;
    int flag = -1, go = 1;
    start(&argc, &argv);
    CHECK_CALL(MPI_Barrier(MPI_COMM_WORLD));
    if (world_rank == world_size - 1) {
        /* The others have started theirs and wait for a word from here before they may see it complete. */
        for (int r = 0; r < world_size - 1; r++) MPI_Recv(&go, 1, MPI_INT, r, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_CALL(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    } else {
        CHECK_CALL(MPI_Ibarrier(MPI_COMM_WORLD, &request));
        for (int i = 0; i < 100; i++) {
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            CHECK_INT(flag, 0);
        }
        MPI_Send(&go, 1, MPI_INT, world_size - 1, 0, MPI_COMM_WORLD);
    }
    CHECK_CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(request == MPI_REQUEST_NULL);
    return finish();
}
