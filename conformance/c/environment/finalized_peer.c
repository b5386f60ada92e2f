/* ranks: 3 4 */
/* MPI 5.0 §11.2.2: a process may finalise once it has done its part of all communication. That is no failure for others
 * that have a receive posted for it: MPI_Test says that nothing has come, other requests go on, and MPI_Cancel takes the
 * receive back (§3.8.4). The same holds for persistent receives, for receives posted later, and for a synchronous send
 * that was never received. Rank 2 is a worker that gets nothing to do; rank 1 sends its result late. */
#include "check.h"
#include <time.h>

static void cancelled(MPI_Request *request)
{
    MPI_Status status;
    int flag = 0;
    CHECK_CALL(MPI_Cancel(request));
    CHECK_CALL(MPI_Wait(request, &status));
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
}

int main(int argc, char **argv)
{
    struct timespec moment = {0, 300 * 1000 * 1000};
    int results[8], word = 1, flag, index;
    start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (world_rank == 0) {
        MPI_Request workers[2], persistent, later, offered, offered_later;
        for (int worker = 1; worker <= 2; worker++)
            MPI_Irecv(&results[worker], 1, MPI_INT, worker, 1, MPI_COMM_WORLD, &workers[worker - 1]);
        MPI_Recv_init(&results[3], 1, MPI_INT, 2, 2, MPI_COMM_WORLD, &persistent);
        MPI_Start(&persistent);
        MPI_Issend(&word, 1, MPI_INT, 2, 3, MPI_COMM_WORLD, &offered);
        for (int to = 1; to < world_size; to++) MPI_Send(&word, 1, MPI_INT, to, 9, MPI_COMM_WORLD);
        nanosleep(&moment, NULL);
        for (int i = 0; i < 100; i++) {
            CHECK_CALL(MPI_Test(&workers[1], &flag, MPI_STATUS_IGNORE));
            CHECK(!flag);
            CHECK_CALL(MPI_Test(&persistent, &flag, MPI_STATUS_IGNORE));
            CHECK(!flag);
        }
        CHECK_CALL(MPI_Irecv(&results[4], 1, MPI_INT, 2, 4, MPI_COMM_WORLD, &later));
        CHECK_CALL(MPI_Issend(&word, 1, MPI_INT, 2, 5, MPI_COMM_WORLD, &offered_later));
        CHECK_CALL(MPI_Test(&later, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
        /* The worker that is there still delivers. */
        CHECK_CALL(MPI_Waitany(2, workers, &index, MPI_STATUS_IGNORE));
        CHECK_INT(index, 0);
        CHECK_INT(results[1], 41);
        cancelled(&workers[1]);
        cancelled(&persistent);
        cancelled(&later);
        cancelled(&offered);
        cancelled(&offered_later);
        MPI_Request_free(&persistent);
    } else {
        MPI_Recv(&word, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (world_rank == 1) {
            nanosleep(&moment, NULL);
            nanosleep(&moment, NULL);
            word = 41;
            MPI_Send(&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        }
    }
    return finish();
}
