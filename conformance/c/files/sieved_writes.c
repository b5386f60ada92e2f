/* ranks: 2 4 */
/* skip-mpich: its contiguous writes take no lock, so that a sieved write of another rank puts old bytes over them */
/* MPI 5.0 section 14.6.1: accesses that do not overlap do not conflict. A rank with the hint romio_ds_write reads and
 * writes back the bytes between its pieces: those that other ranks write there meanwhile must stay, however these write
 * and whether they gave the hint or not. */
#include "file_name.h"

enum { PIECE = 16, TURNS = 3000, AGAIN = 10, RANKS_MAX = 16 };

static char whole[PIECE * TURNS * RANKS_MAX], own[PIECE * TURNS];

static MPI_Offset place(int turn, int rank) { return ((MPI_Offset)turn * world_size + rank) * PIECE; }

static char byte_of(int rank, int round) { return (char)(1 + rank + 16 * round); }

/* This rank's pieces, one in each turn. */
static void view_own(MPI_File file, MPI_Info info)
{
    MPI_Datatype piece, view;
    MPI_Type_contiguous(PIECE, MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, (MPI_Aint)PIECE * world_size, &view);
    MPI_Type_commit(&view);
    CHECK_CALL(MPI_File_set_view(file, place(0, world_rank), MPI_BYTE, view, "native", info));
    MPI_Type_free(&piece);
    MPI_Type_free(&view);
}

static void check_all(MPI_File file, int round, const char *what)
{
    int wrong = -1, bytes = PIECE * TURNS * world_size;
    sync_all(file);
    view_bytes(file);
    CHECK_CALL(MPI_File_read_at(file, 0, whole, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    for (int at = 0; at < bytes && wrong < 0; at++)
        if (whole[at] != byte_of(at / PIECE % world_size, round)) wrong = at;
    if (wrong >= 0) fprintf(stderr, "%s, round %d: byte %d is %d\n", what, round, wrong, whole[wrong]);
    CHECK_INT(wrong, -1);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void write_through_view(MPI_File file)
{
    for (int again = 0; again < AGAIN; again++) {
        MPI_Request request;
        if (again % 2 == 0) {
            CHECK_CALL(MPI_File_write_at(file, 0, own, sizeof own, MPI_BYTE, MPI_STATUS_IGNORE));
            continue;
        }
        CHECK_CALL(MPI_File_iwrite_at(file, 0, own, sizeof own, MPI_BYTE, &request));
        CHECK_CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
}

static void write_piece_by_piece(MPI_File file)
{
    for (int turn = 0; turn < TURNS; turn++)
        CHECK_CALL(MPI_File_write_at(file, place(turn, world_rank), own, PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void round_of(MPI_File file, int round, MPI_Info info, int all_sieve)
{
    memset(own, byte_of(world_rank, round), sizeof own);
    if (world_rank == 0 || all_sieve)
        view_own(file, info);
    else
        CHECK_CALL(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", info));
    if (world_rank == 0 || all_sieve)
        write_through_view(file);
    else
        write_piece_by_piece(file);
    check_all(file, round, all_sieve ? "all sieve" : "one sieves");
}

int main(int argc, char **argv)
{
    char name[64];
    MPI_File file;
    MPI_Info info;
    start(&argc, &argv);
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_ds_write", "enable");
    MPI_Info_set(info, "ind_wr_buffer_size", "16384");
    file_name(name, sizeof name, "sieved_writes");
    CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, &file));
    for (int round = 0; round < 6; round++) round_of(file, round, MPI_INFO_NULL, round % 2);
    CHECK_CALL(MPI_File_close(&file));
    /* The hint comes with the view, from one rank alone. */
    file = new_file("sieved_writes");
    for (int round = 0; round < 3; round++) round_of(file, round, world_rank == 0 ? info : MPI_INFO_NULL, 0);
    /* A collective write beside it: the hint makes ranks write by themselves, or not; both keep all bytes. */
    memset(own, byte_of(world_rank, 3), sizeof own);
    view_own(file, MPI_INFO_NULL);
    CHECK_CALL(MPI_File_write_at_all(file, 0, own, sizeof own, MPI_BYTE, MPI_STATUS_IGNORE));
    check_all(file, 3, "together");
    MPI_Info_free(&info);
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
