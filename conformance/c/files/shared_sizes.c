/* ranks: 1 2 4 */
/* MPI 5.0 sections 14.4.4 and 14.6.2: accesses at the shared pointer may differ in size from process to process, and
 * each moves the pointer by what it asked for; none overlaps another, ordered ones follow the ranks, and a read
 * beyond the end still moves the pointer by the whole request. */
#include "file_name.h"

enum { TURNS = 12, RECORD_MAX = 64 };

/* A record is its length, its rank and as many numbers; the n-th record of a rank has this length. */
static int length_of(int rank, int n) { return 2 + (rank * 5 + n * 7) % (RECORD_MAX - 2); }

static int make(int *record, int rank, int n)
{
    record[0] = length_of(rank, n);
    record[1] = rank;
    for (int i = 2; i < record[0]; i++) record[i] = 1000 * rank + n;
    return record[0];
}

int main(int argc, char **argv)
{
    int record[TURNS][RECORD_MAX], total = 0, zero = 0;
    MPI_Offset position, size;
    MPI_Request request[TURNS];
    MPI_Status status;
    start(&argc, &argv);
    MPI_File file = new_file("shared_sizes");
    CHECK_CALL(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    for (int rank = 0; rank < world_size; rank++)
        for (int n = 0; n < TURNS; n++) total += length_of(rank, n);
    /* Blocking and nonblocking ones by turns, without any order. */
    for (int n = 0; n < TURNS; n++) {
        int count = make(record[n], world_rank, n);
        request[n] = MPI_REQUEST_NULL;
        if (n % 2 == 0) CHECK_CALL(MPI_File_write_shared(file, record[n], count, MPI_INT, &status));
        else CHECK_CALL(MPI_File_iwrite_shared(file, record[n], count, MPI_INT, &request[n]));
    }
    CHECK_CALL(MPI_Waitall(TURNS, request, MPI_STATUSES_IGNORE));
    sync_all(file);
    CHECK_CALL(MPI_File_get_position_shared(file, &position));
    CHECK_INT(position, total);
    /* Every record is there once and whole. */
    int *all = malloc(total * sizeof(int)), seen = 0, wrong = 0;
    CHECK_CALL(MPI_File_read_at(file, 0, all, total, MPI_INT, &status));
    CHECK_INT(count_of(&status, MPI_INT), total);
    for (int at = 0; at < total && all[at] >= 2 && all[at] < RECORD_MAX; at += all[at], seen++) {
        int n = all[at] > 2 ? all[at + 2] - 1000 * all[at + 1] : 0;
        if (all[at] > 2) wrong += n < 0 || n >= TURNS || length_of(all[at + 1], n) != all[at];
        for (int i = 3; i < all[at]; i++) wrong += all[at + i] != all[at + 2];
    }
    CHECK_INT(wrong, 0);
    CHECK_INT(seen, TURNS * world_size);
    MPI_Barrier(MPI_COMM_WORLD);
    /* Ordered: rank after rank; one rank may have nothing. */
    CHECK_CALL(MPI_File_set_size(file, 0));
    CHECK_CALL(MPI_File_seek_shared(file, 3, MPI_SEEK_SET));
    int before = 3, count = world_rank == 1 ? 0 : make(record[0], world_rank, 1);
    for (int rank = 0; rank < world_rank; rank++) before += rank == 1 ? 0 : length_of(rank, 1);
    CHECK_CALL(MPI_File_write_ordered(file, record[0], count, MPI_INT, &status));
    CHECK_INT(count_of(&status, MPI_INT), count);
    sync_all(file);
    memset(all, 0, RECORD_MAX * sizeof(int));
    CHECK_CALL(MPI_File_read_at(file, before, all, count, MPI_INT, &status));
    CHECK_BYTES(all, record[0], count * sizeof(int));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_seek_shared(file, 3, MPI_SEEK_SET));
    memset(all, 0, RECORD_MAX * sizeof(int));
    CHECK_CALL(MPI_File_read_ordered_begin(file, all, count, MPI_INT));
    CHECK_CALL(MPI_File_read_ordered_end(file, all, &status));
    CHECK_INT(count_of(&status, MPI_INT), count);
    CHECK_BYTES(all, record[0], count * sizeof(int));
    /* Beyond the end nothing is read; each rank moves the pointer by what it asked for. */
    CHECK_CALL(MPI_File_get_size(file, &size));
    CHECK_CALL(MPI_File_seek_shared(file, 5, MPI_SEEK_END));
    CHECK_CALL(MPI_File_read_shared(file, all, world_rank + 1, MPI_INT, &status));
    CHECK_INT(count_of(&status, MPI_INT), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_get_position_shared(file, &position));
    CHECK_INT(position, size / 4 + 5 + world_size * (world_size + 1) / 2);
    CHECK_CALL(MPI_File_read_shared(file, &zero, 0, MPI_INT, &status));
    free(all);
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
