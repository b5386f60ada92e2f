/* ranks: 1 2 */
/* threads */
/* MPI 5.0 sections 11.6 and 14.6: with MPI_THREAD_MULTIPLE the threads of a process may access one file at once, blocking
 * and not, at places of their own; accesses at the shared pointer never meet. */
#include "file_name.h"
#include <pthread.h>

enum { THREADS = 4, TURNS = 50, INTS = 8 };

static MPI_File file;

static void *work(void *argument)
{
    int thread = (int)(long)argument, data[INTS], got[INTS];
    MPI_Status status;
    MPI_Request request;
    for (int turn = 0; turn < TURNS; turn++) {
        MPI_Offset at = 4096 + 4 * INTS * (((world_rank * THREADS) + thread) * TURNS + turn);
        for (int i = 0; i < INTS; i++) data[i] = 1000 * thread + turn + i;
        CHECK_CALL(MPI_File_iwrite_at(file, at, data, INTS, MPI_INT, &request));
        CHECK_CALL(MPI_Wait(&request, &status));
        CHECK_CALL(MPI_File_read_at(file, at, got, INTS, MPI_INT, &status));
        CHECK_BYTES(got, data, sizeof data);
        char one = (char)(1 + thread);
        CHECK_CALL(MPI_File_write_shared(file, &one, 1, MPI_CHAR, &status));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    char shared[THREADS * TURNS * 4];
    int provided, counts[THREADS + 1] = {0};
    MPI_Offset at;
    MPI_Status status;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    started();
    if (provided == MPI_THREAD_MULTIPLE) {
        file = new_file("threads");
        for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)i);
        for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
        sync_all(file);
        CHECK_CALL(MPI_File_get_position_shared(file, &at));
        CHECK_INT(at, world_size * THREADS * TURNS);
        CHECK_CALL(MPI_File_read_at(file, 0, shared, world_size * THREADS * TURNS, MPI_CHAR, &status));
        for (int i = 0; i < world_size * THREADS * TURNS; i++)
            if (shared[i] >= 1 && shared[i] <= THREADS) counts[(int)shared[i]]++;
        for (int i = 1; i <= THREADS; i++) CHECK_INT(counts[i], world_size * TURNS);
        CHECK_CALL(MPI_File_close(&file));
    }
    return finish();
}
