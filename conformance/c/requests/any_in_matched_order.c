/* ranks: 2 3 5 */
/* MPI 5.0 §3.5: messages of one sender do not overtake each other, and receives match in the order in which they were
 * posted. Every rank polls several wildcard receives by MPI_Testany, MPI_Waitany, MPI_Testsome or MPI_Waitsome and posts
 * each again at once. Of several receives that are complete, the one that was matched first is handed out first, so
 * that a program which takes messages from MPI_Testany sees those of each sender in the order they were sent. */
#include "check.h"

enum { LENGTH = 512, POSTED = 4, MESSAGES = 300, DATA = 1, LAST = 2 };

static long incoming[POSTED][LENGTH], outgoing[LENGTH], next[16], sent[16];
static MPI_Request requests[POSTED];
static int last_words;

static void post(int at)
{
    MPI_Irecv(incoming[at], LENGTH, MPI_LONG, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[at]);
}

static void take(int at, const MPI_Status *status)
{
    int count, from = status->MPI_SOURCE;
    MPI_Get_count(status, MPI_LONG, &count);
    if (status->MPI_TAG == LAST) {
        CHECK_INT(count, 0);
        last_words++;
    } else {
        CHECK_INT(incoming[at][0], next[from]);
        next[from] = incoming[at][0] + 1;
        for (int i = 1; i < count; i++) CHECK_INT(incoming[at][i], incoming[at][0] * 1003 + from * 97 + i);
    }
}

/* Takes what has arrived, by each of the four calls in turn; those that wait are for when something must come. */
static void poll(int wait)
{
    static int turn;
    MPI_Status statuses[POSTED];
    int indices[POSTED], count = 0, flag = 1;
    switch (++turn % 2 + 2 * wait) {
    case 0: MPI_Testany(POSTED, requests, &indices[0], &flag, &statuses[0]); count = flag; break;
    case 1: MPI_Testsome(POSTED, requests, &count, indices, statuses); break;
    case 2: MPI_Waitany(POSTED, requests, &indices[0], &statuses[0]); count = 1; break;
    case 3: MPI_Waitsome(POSTED, requests, &count, indices, statuses); break;
    }
    for (int i = 0; i < count; i++) take(indices[i], &statuses[i]);
    for (int i = 0; i < count; i++) post(indices[i]);
}

int main(int argc, char **argv)
{
    MPI_Request send = MPI_REQUEST_NULL, last[16];
    int flag;
    long expected[16];
    start(&argc, &argv);
    srand(world_rank + 1);
    for (int i = 0; i < POSTED; i++) post(i);
    for (int message = 0; message < MESSAGES;) {
        poll(0);
        MPI_Test(&send, &flag, MPI_STATUS_IGNORE);
        int to = rand() % world_size, length = 1 + rand() % LENGTH;
        if (!flag || to == world_rank) continue;
        outgoing[0] = sent[to]++;
        for (int i = 1; i < length; i++) outgoing[i] = outgoing[0] * 1003 + world_rank * 97 + i;
        MPI_Isend(outgoing, length, MPI_LONG, to, DATA, MPI_COMM_WORLD, &send);
        message++;
    }
    do {
        poll(0);
        MPI_Test(&send, &flag, MPI_STATUS_IGNORE);
    } while (!flag);
    for (int to = 0; to < world_size; to++) {
        last[to] = MPI_REQUEST_NULL;
        if (to != world_rank) MPI_Isend(outgoing, 0, MPI_LONG, to, LAST, MPI_COMM_WORLD, &last[to]);
    }
    while (last_words < world_size - 1) poll(1);
    MPI_Waitall(world_size, last, MPI_STATUSES_IGNORE);
    for (int i = 0; i < POSTED; i++) {
        MPI_Cancel(&requests[i]);
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
    MPI_Alltoall(sent, 1, MPI_LONG, expected, 1, MPI_LONG, MPI_COMM_WORLD);
    for (int from = 0; from < world_size; from++)
        if (from != world_rank) CHECK_INT(next[from], expected[from]);
    return finish();
}
