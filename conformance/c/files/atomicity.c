/* ranks: 2 4 */
/* MPI 5.0 section 14.6.1: in atomic mode, conflicting accesses of the same file happen one after the other: a read sees all
 * of a write or nothing of it, also through views whose pieces lie apart. The mode can be asked for. */
#include "file_name.h"

enum { BLOCKS = 64, BLOCK = 96, TURNS = 30 };

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Datatype holes, tile;
    MPI_Status status;
    int flag = 1;
    static char data[BLOCKS * BLOCK], got[BLOCKS * BLOCK];
    start(&argc, &argv);
    file = new_file("atomicity");
    CHECK_CALL(MPI_File_get_atomicity(file, &flag));
    CHECK_INT(flag, 0);
    MPI_Type_vector(BLOCKS, BLOCK, 4 * BLOCK, MPI_BYTE, &holes);
    MPI_Type_create_resized(holes, 0, 4 * BLOCK * BLOCKS, &tile);
    MPI_Type_commit(&tile);
    CHECK_CALL(MPI_File_set_view(file, 5, MPI_BYTE, tile, "native", MPI_INFO_NULL));
    CHECK_CALL(MPI_File_set_atomicity(file, 17));
    CHECK_CALL(MPI_File_get_atomicity(file, &flag));
    CHECK(flag != 0);
    memset(data, 'a' + world_rank, sizeof data);
    CHECK_CALL(MPI_File_write_at_all(file, 0, data, world_rank ? 0 : sizeof data, MPI_BYTE, &status));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int turn = 0; turn < TURNS; turn++) {
        if ((turn + world_rank) % 2) {
            memset(data, 'a' + (turn + world_rank) % 26, sizeof data);
            CHECK_CALL(MPI_File_write_at(file, 0, data, sizeof data, MPI_BYTE, &status));
        } else {
            CHECK_CALL(MPI_File_read_at(file, 0, got, sizeof got, MPI_BYTE, &status));
            CHECK_INT(count_of(&status, MPI_BYTE), sizeof got);
            for (size_t i = 1; i < sizeof got; i++)
                if (got[i] != got[0]) {
                    CHECK_INT(got[i], got[0]);
                    break;
                }
        }
    }
    /* What one rank has written another reads, without a sync. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == world_size - 1) {
        memset(data, 'Z', sizeof data);
        CHECK_CALL(MPI_File_write_at(file, 0, data, sizeof data, MPI_BYTE, &status));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_read_at(file, 0, got, sizeof got, MPI_BYTE, &status));
    CHECK_INT(got[sizeof got - 1], 'Z');
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_set_atomicity(file, 0));
    CHECK_CALL(MPI_File_close(&file));
    MPI_Type_free(&tile);
    MPI_Type_free(&holes);
    return finish();
}
