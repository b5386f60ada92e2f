/* ranks: 2 */
/* MPI 5.0 section 3.9: a persistent request is inactive until MPI_Start, becomes inactive again (and keeps its handle)
 * when completed, and can be started as often as wanted; a wait on it while inactive returns at once with an empty
 * status. */
#include "check.h"

static char buffer[1000 + MPI_BSEND_OVERHEAD];

int main(int argc, char **argv)
{
    int out[3] = {0}, in[3] = {0};
    MPI_Request requests[3];
    MPI_Status statuses[3];
    start(&argc, &argv);
    if (world_rank == 0) {
        MPI_Buffer_attach(buffer, sizeof buffer);
        MPI_Send_init(&out[0], 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Ssend_init(&out[1], 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Bsend_init(&out[2], 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &requests[2]);
    } else {
        for (int i = 0; i < 3; i++) MPI_Recv_init(&in[i], 1, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Wait(&requests[0], &statuses[0]);
    CHECK(requests[0] != MPI_REQUEST_NULL);
    CHECK_INT(statuses[0].MPI_SOURCE, MPI_ANY_SOURCE);
    CHECK_INT(statuses[0].MPI_TAG, MPI_ANY_TAG);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 3; i++) out[i] = 100 * round + i;
        if (round % 2) {
            MPI_Startall(3, requests);
        } else {
            for (int i = 2; i >= 0; i--) MPI_Start(&requests[i]);
        }
        CHECK_CALL(MPI_Waitall(3, requests, statuses));
        for (int i = 0; i < 3; i++) CHECK(requests[i] != MPI_REQUEST_NULL);
        if (world_rank == 1) {
            for (int i = 0; i < 3; i++) {
                CHECK_INT(in[i], 100 * round + i);
                CHECK_INT(statuses[i].MPI_TAG, i);
                CHECK_INT(statuses[i].MPI_SOURCE, 0);
            }
        }
    }
    for (int i = 0; i < 3; i++) {
        CHECK_CALL(MPI_Request_free(&requests[i]));
        CHECK(requests[i] == MPI_REQUEST_NULL);
    }
    if (world_rank == 0) MPI_Buffer_detach(&(void *){NULL}, &(int){0});
    return finish();
}
