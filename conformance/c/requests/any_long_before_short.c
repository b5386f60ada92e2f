/* ranks: 2 3 */
/* skip-mpich: the standard leaves the choice among complete requests to the library; MPICH takes the first of the array */
/* MPI 5.0 §3.5: messages of one sender are matched in the order in which they were sent. A long message needs more time
 * than a short one behind it. While the bytes of the long one keep coming, MPI_Testany and MPI_Waitany hand out the long
 * one first, whatever its place in the array; every request is handed out in the end (§3.7.4, progress). */
#include "check.h"

enum { LONG = 1 << 18, ROUNDS = 20 };

static long incoming[2][LONG], outgoing[LONG];

int main(int argc, char **argv)
{
    start(&argc, &argv);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (world_rank == 0) {
            for (int from = 1; from < world_size; from++) {
                MPI_Request requests[2];
                MPI_Status status;
                int index, flag;
                /* The long message meets the second of the array in every other round. */
                int first = round % 2;
                for (int i = 0; i < 2; i++)
                    MPI_Irecv(incoming[i ^ first], LONG, MPI_LONG, from, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[i ^ first]);
                for (int expected = 0; expected < 2; expected++) {
                    if (round % 3) {
                        MPI_Waitany(2, requests, &index, &status);
                    } else {
                        do MPI_Testany(2, requests, &index, &flag, &status);
                        while (!flag);
                    }
                    CHECK_INT(index, expected ^ first);
                    CHECK_INT(status.MPI_TAG, 1 + expected);
                    CHECK_INT(incoming[index][0], round);
                    if (expected == 0) CHECK_INT(incoming[index][LONG - 1], round + 1);
                }
            }
        } else {
            MPI_Request requests[2];
            long word = round;
            outgoing[0] = round;
            outgoing[LONG - 1] = round + 1;
            MPI_Isend(outgoing, LONG, MPI_LONG, 0, 1, MPI_COMM_WORLD, &requests[0]);
            MPI_Isend(&word, 1, MPI_LONG, 0, 2, MPI_COMM_WORLD, &requests[1]);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        }
    }
    return finish();
}
