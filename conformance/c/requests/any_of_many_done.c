/* ranks: 1 2 */
/* MPI 5.0 section 3.7.5: MPI_Waitany and MPI_Testany complete one request of the list as it is now. Between two calls on
 * a list of many complete requests, others are completed by MPI_Wait, freed, exchanged with each other, and posted anew
 * in the same places: every message is handed out once, with the status of the request in its place. */
#include "check.h"

enum { MANY = 300, ROUNDS = 5 };

static int in[MANY], tags[MANY];
static MPI_Request requests[MANY];

static void post(int at, int tag)
{
    in[at] = -1;
    tags[at] = tag;
    MPI_Irecv(&in[at], 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &requests[at]);
}

static void check_one(int at, const MPI_Status *status)
{
    int count;
    CHECK(at >= 0 && at < MANY);
    MPI_Get_count(status, MPI_INT, &count);
    CHECK_INT(count, 1);
    CHECK_INT(status->MPI_TAG, tags[at]);
    CHECK(requests[at] == MPI_REQUEST_NULL);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int peer = (world_rank + 1) % world_size;
    for (int round = 0; round < ROUNDS; round++) {
        int left = MANY, at, flag, again = 0;
        MPI_Status status;
        for (int i = 0; i < MANY; i++) post(i, i);
        for (int i = 0; i < MANY; i++) MPI_Send(&i, 1, MPI_INT, peer, (i * 7 + round) % MANY, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        while (left > 0) {
            if (left % 3) {
                CHECK_CALL(MPI_Waitany(MANY, requests, &at, &status));
            } else {
                do CHECK_CALL(MPI_Testany(MANY, requests, &at, &flag, &status));
                while (!flag);
            }
            check_one(at, &status);
            left--;
            /* One in its place that is not sent yet, and is over later. */
            if (left % 20 == 0 && again < 5) {
                post(at, MANY + again);
                MPI_Send(&again, 1, MPI_INT, peer, MANY + again, MPI_COMM_WORLD);
                again++;
                left++;
            }
            /* One that the library may have found to be over is completed by another call. */
            int other = rand() % MANY;
            if (left % 7 == 0 && requests[other] != MPI_REQUEST_NULL) {
                CHECK_CALL(MPI_Wait(&requests[other], &status));
                check_one(other, &status);
                left--;
            }
            /* Two change places, with what belongs to them. */
            int one = rand() % MANY, two = rand() % MANY, tag = tags[one];
            MPI_Request request = requests[one];
            requests[one] = requests[two], tags[one] = tags[two];
            requests[two] = request, tags[two] = tag;
        }
        CHECK_CALL(MPI_Waitany(MANY, requests, &at, &status));
        CHECK_INT(at, MPI_UNDEFINED);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return finish();
}
