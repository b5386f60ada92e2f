/* ranks: 1 2 4 */
/* MPI 5.0 section 14.6.1: accesses that do not overlap need no order. Ranks that write their own pieces of pages that all
 * of them have read keep each other's bytes, and after MPI_File_sync, a barrier and MPI_File_sync all see all of them,
 * and the same length. A rank sees what it wrote itself without any of that, also by a collective read. */
#include "file_name.h"

enum { PIECE = 100, TURNS = 60, ROUNDS = 3, PIECES_MAX = 16 * TURNS };

static char whole[PIECE * PIECES_MAX];

static char byte_of(int rank, int round) { return (char)(1 + rank + 16 * round); }

static void check_all(MPI_File file, int round, const char *what)
{
    MPI_Status status;
    int bytes = PIECE * TURNS * world_size, wrong = -1;
    memset(whole, 0, sizeof whole);
    CHECK_CALL(MPI_File_read_at(file, 0, whole, bytes, MPI_BYTE, &status));
    CHECK_INT(count_of(&status, MPI_BYTE), bytes);
    for (int at = 0; at < bytes && wrong < 0; at++)
        if (whole[at] != byte_of(at / PIECE % world_size, round)) wrong = at;
    if (wrong >= 0) fprintf(stderr, "%s, round %d: byte %d is %d\n", what, round, wrong, whole[wrong]);
    CHECK_INT(wrong, -1);
}

int main(int argc, char **argv)
{
    char data[PIECE], own[PIECE * TURNS];
    MPI_Offset size;
    MPI_Status status;
    start(&argc, &argv);
    MPI_File file = new_file("disjoint_pages");
    for (int round = 0; round < ROUNDS; round++) {
        memset(data, byte_of(world_rank, round), sizeof data);
        for (int turn = 0; turn < TURNS; turn++)
            CHECK_CALL(MPI_File_write_at(file, (MPI_Offset)(turn * world_size + world_rank) * PIECE, data, PIECE, MPI_BYTE, &status));
        sync_all(file);
        /* Whoever keeps pages has all of them now, and the next round writes into parts of them. */
        check_all(file, round, "alone");
        MPI_Barrier(MPI_COMM_WORLD);
    }
    /* The same through a view by all together, and seen without a sync by the rank itself. */
    MPI_Datatype piece, view;
    MPI_Type_contiguous(PIECE, MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, (MPI_Aint)PIECE * world_size, &view);
    MPI_Type_commit(&view);
    CHECK_CALL(MPI_File_set_view(file, (MPI_Offset)world_rank * PIECE, MPI_BYTE, view, "native", MPI_INFO_NULL));
    memset(own, byte_of(world_rank, ROUNDS), sizeof own);
    CHECK_CALL(MPI_File_write_at_all(file, 0, own, sizeof own, MPI_BYTE, &status));
    memset(own, 0, sizeof own);
    CHECK_CALL(MPI_File_read_at(file, 0, own, sizeof own, MPI_BYTE, &status));
    view_bytes(file);
    sync_all(file);
    check_all(file, ROUNDS, "together");
    /* The last rank makes the file longer: it sees that at once, the others after the sync. */
    MPI_Offset end = PIECE * TURNS * world_size, tail = end + world_rank * (MPI_Offset)PIECE;
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_write_at(file, tail, data, PIECE, MPI_BYTE, &status));
    memset(own, 0, PIECE);
    CHECK_CALL(MPI_File_read_at_all(file, tail, own, PIECE, MPI_BYTE, &status));
    CHECK_INT(count_of(&status, MPI_BYTE), PIECE);
    CHECK(memcmp(own, data, PIECE) == 0);
    sync_all(file);
    CHECK_CALL(MPI_File_get_size(file, &size));
    CHECK_INT(size, end + world_size * PIECE);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_set_size(file, end / 2));
    sync_all(file);
    CHECK_CALL(MPI_File_get_size(file, &size));
    CHECK_INT(size, end / 2);
    CHECK_CALL(MPI_File_read_at(file, end / 2 - PIECE, own, 2 * PIECE, MPI_BYTE, &status));
    CHECK_INT(count_of(&status, MPI_BYTE), PIECE);
    MPI_Type_free(&piece);
    MPI_Type_free(&view);
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
