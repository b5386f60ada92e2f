/* ranks: 2 3 */
/* MPI 5.0 §11.2.2, MPI_Finalize: a process that has begun sends and freed their requests has done all that is asked of
 * it and may finalise; the library still delivers the messages to receivers that ask later. They are of any length, in
 * any mode, also of datatypes with gaps and of persistent requests. */
#include "check.h"
#include <time.h>

enum { LONG = 1 << 17 };

static int data[6][2 * LONG];

int main(int argc, char **argv)
{
    static const int lengths[] = {1, 1000, 20000, LONG};
    MPI_Request request;
    MPI_Datatype gaps;
    start(&argc, &argv);
    MPI_Type_vector(LONG / 2, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    if (world_rank == 0) {
        for (int i = 0; i < 2 * LONG; i++)
            for (int j = 0; j < 6; j++) data[j][i] = i + j;
        for (int to = 1; to < world_size; to++) {
            for (int i = 0; i < 4; i++) {
                MPI_Isend(data[i], lengths[i], MPI_INT, to, i, MPI_COMM_WORLD, &request);
                MPI_Request_free(&request);
            }
            MPI_Issend(data[4], 1, gaps, to, 4, MPI_COMM_WORLD, &request);
            MPI_Request_free(&request);
            MPI_Send_init(data[5], LONG, MPI_INT, to, 5, MPI_COMM_WORLD, &request);
            MPI_Start(&request);
            MPI_Request_free(&request);
        }
    } else {
        struct timespec pause = {0, 200 * 1000 * 1000};
        nanosleep(&pause, NULL);
        for (int i = 0; i < 4; i++) {
            MPI_Recv(data[i], lengths[i], MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int at = 0; at < lengths[i]; at++) CHECK_INT(data[i][at], at + i);
        }
        MPI_Recv(data[5], LONG, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(data[4], LONG / 2, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int at = 0; at < LONG; at++) CHECK_INT(data[5][at], at + 5);
        for (int at = 0; at < LONG / 2; at++) CHECK_INT(data[4][at], 2 * at + 4);
    }
    MPI_Type_free(&gaps);
    return finish();
}
