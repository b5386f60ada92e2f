/* ranks: 2 */
/* MPI 5.0 section 3.5, order: messages of one sender are received in the order sent, whatever their lengths. The lengths here
 * lie around those at which an implementation may choose another way: a frame, a few frames, eager and offered ones, with many
 * on their way at once, received and probed by wildcards. */
#include "check.h"

enum { MESSAGES = 2000, WINDOW = 50, LONGEST = 200000 };

static const int lengths[] = {0, 4, 1300, 1500, 2700, 4000, 9000, 16384, 16385, 40000, 65536, 65537, LONGEST};

/* Every rank draws the same lengths. */
static int length_of(int number)
{
    unsigned drawn = (unsigned)number * 2654435761u;
    return lengths[(drawn >> 16) % (sizeof lengths / sizeof lengths[0])];
}

static void send_all(char *out)
{
    MPI_Request requests[WINDOW];
    for (int first = 0; first < MESSAGES; first += WINDOW) {
        for (int i = 0; i < WINDOW; i++) {
            int number = first + i, length = length_of(number);
            char *message = out + (size_t)i * LONGEST;
            memset(message, number, (size_t)length);
            if (length >= 4) memcpy(message, &number, 4);
            MPI_Isend(message, length, MPI_BYTE, 1, number % 3, MPI_COMM_WORLD, &requests[i]);
        }
        CHECK_CALL(MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE));
    }
}

static void receive_all(char *in)
{
    for (int number = 0; number < MESSAGES; number++) {
        int length = length_of(number), got = -1, found = number;
        MPI_Status status;
        if (number / WINDOW % 2 == 1) {
            MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_BYTE, &got);
            CHECK_INT(got, length);
        }
        MPI_Recv(in, LONGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &got);
        CHECK_INT(got, length);
        CHECK_INT(status.MPI_TAG, number % 3);
        if (got >= 4) memcpy(&found, in, 4);
        CHECK_INT(found, number);
        if (got > 4) CHECK_INT(in[got - 1], (char)number);
    }
}

int main(int argc, char **argv)
{
    char *buffer = malloc((size_t)WINDOW * LONGEST);
    start(&argc, &argv);
    if (world_rank == 0) send_all(buffer);
    if (world_rank == 1) receive_all(buffer);
    free(buffer);
    return finish();
}
