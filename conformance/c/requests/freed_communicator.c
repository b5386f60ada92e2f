/* ranks: 2 4 */
/* MPI 5.0 section 7.4.3: MPI_Comm_free marks a communicator; operations that use it complete normally, and it goes only
 * after them. Receives are posted, their communicator is freed, others are made (which must not get its contexts), and
 * messages of both arrive: each reaches the receive of its own communicator. */
#include "check.h"

enum { POSTED = 6, ROUNDS = 20 };

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int to = (world_rank + 1) % world_size, from = (world_rank + world_size - 1) % world_size;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm old, new;
        MPI_Request requests[POSTED];
        MPI_Status statuses[POSTED];
        int in[POSTED], out[POSTED], other = -1, at, flag;
        MPI_Comm_dup(MPI_COMM_WORLD, &old);
        for (int i = 0; i < POSTED; i++) {
            in[i] = -1;
            out[i] = round * 100 + world_rank * 10 + i;
            MPI_Irecv(&in[i], 1, MPI_INT, from, MPI_ANY_TAG, old, &requests[i]);
        }
        /* The sender keeps its communicator until it has sent; the receiver's handle goes first. */
        MPI_Comm held = old;
        if (world_rank % 2 == 0) {
            MPI_Barrier(MPI_COMM_WORLD);
            for (int i = 0; i < POSTED; i++) MPI_Send(&out[i], 1, MPI_INT, to, i, held);
            MPI_Comm_free(&old);
        } else {
            for (int i = 0; i < POSTED; i++) MPI_Send(&out[i], 1, MPI_INT, to, i, held);
            MPI_Comm_free(&old);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        CHECK(old == MPI_COMM_NULL);
        MPI_Comm_dup(MPI_COMM_WORLD, &new);
        int word = -round;
        MPI_Sendrecv(&word, 1, MPI_INT, to, 0, &other, 1, MPI_INT, from, 0, new, MPI_STATUS_IGNORE);
        CHECK_INT(other, -round);
        MPI_Comm_free(&new);
        switch (round % 4) {
        case 0: MPI_Waitall(POSTED, requests, statuses); break;
        case 1:
            for (int i = 0; i < POSTED; i++) MPI_Waitany(POSTED, requests, &at, &statuses[0]);
            break;
        case 2:
            for (int i = 0; i < POSTED; i++) MPI_Wait(&requests[i], &statuses[i]);
            break;
        case 3:
            for (int i = 0; i < POSTED; i++) {
                do MPI_Test(&requests[i], &flag, &statuses[i]);
                while (!flag);
            }
            break;
        }
        for (int i = 0; i < POSTED; i++) {
            CHECK_INT(in[i], round * 100 + from * 10 + i);
            CHECK(requests[i] == MPI_REQUEST_NULL);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return finish();
}
