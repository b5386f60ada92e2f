/* Run with OXMPI_DRIVER=off and --progress kernel: no thread of the library moves anything while the application computes. Rank 1 posts receives and looks at their memory without
 * calling the library; the messages must arrive all the same, because the kernel puts them there. A rank that waits for a minute in vain says so. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MESSAGES 16
#define BYTES 4000

static unsigned char memory[MESSAGES][BYTES];

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

/* Whether all bytes have come, looking only at memory. */
static int comes(volatile unsigned char *message, unsigned char value)
{
	double end = now() + 60;

	for (int at = 0; at < BYTES; at++)
		while (message[at] != value)
			if (now() > end)
				return 0;
	return 1;
}

static int receive(void)
{
	MPI_Request requests[MESSAGES];
	MPI_Status statuses[MESSAGES];

	for (int i = 0; i < MESSAGES; i++)
		MPI_Irecv(memory[i], BYTES, MPI_BYTE, i % 2 ? 0 : MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &requests[i]);
	MPI_Send(NULL, 0, MPI_BYTE, 0, MESSAGES, MPI_COMM_WORLD);
	for (int i = 0; i < MESSAGES; i++) {
		if (!comes(memory[i], i + 1)) {
			fprintf(stderr, "message %d did not come while rank 1 computed\n", i);
			return 1;
		}
	}
	MPI_Waitall(MESSAGES, requests, statuses);
	for (int i = 0; i < MESSAGES; i++) {
		int bytes;

		MPI_Get_count(&statuses[i], MPI_BYTE, &bytes);
		if (statuses[i].MPI_SOURCE != 0 || statuses[i].MPI_TAG != i || bytes != BYTES) {
			fprintf(stderr, "message %d has a wrong status\n", i);
			return 1;
		}
	}
	return 0;
}

static void send(void)
{
	static unsigned char message[BYTES];

	MPI_Recv(NULL, 0, MPI_BYTE, 1, MESSAGES, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (int i = 0; i < MESSAGES; i++) {
		memset(message, i + 1, BYTES);
		MPI_Send(message, BYTES, MPI_BYTE, 1, i, MPI_COMM_WORLD);
	}
}

int main(int argc, char **argv)
{
	int rank, failed = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0)
		send();
	else
		failed = receive();
	if (failed)
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_Finalize();
	return 0;
}
