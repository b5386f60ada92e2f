/* ranks: 1 2 */
/* skip-mpich: ROMIO 5.0.2 reads through overlapping filetypes in another order */
/* MPI 5.0 section 14.3: only a file opened for writing forbids overlap, so a view for reading may see a byte twice, in
 * one filetype or in two copies of it. And copies may reach between each other's blocks, for writing, too. Where copies
 * overlap the first can be written: PnetCDF makes such filetypes and uses one copy. */
#include "file_name.h"

int main(int argc, char **argv)
{
    char name[64];
    MPI_File file;
    MPI_Datatype twice, sliding, comb, raw;
    MPI_Status status;
    MPI_Offset at;
    int data[16], got[16], lengths[2] = {3, 2}, places[2] = {0, 1};
    start(&argc, &argv);
    file_name(name, sizeof name, "overlap");
    CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    for (int i = 0; i < 16; i++) data[i] = i;
    /* Blocks at 0 and 2 with an extent of 1: copies 0 and 1 are 0 2 and 1 3; copy 2 overlaps copy 0. */
    MPI_Type_vector(2, 1, 2, MPI_INT, &raw);
    MPI_Type_create_resized(raw, 0, 4, &comb);
    MPI_Type_commit(&comb);
    CHECK_CALL(MPI_File_set_view(file, 0, MPI_INT, comb, "native", MPI_INFO_NULL));
    CHECK_CALL(MPI_File_write_at_all(file, 0, data, 2, MPI_INT, &status));
    CHECK_CLASS(MPI_File_write_at(file, 0, data, 3, MPI_INT, &status), MPI_ERR_ARG);
    CHECK_CLASS(MPI_File_write_at_all(file, 2, data, 1, MPI_INT, &status), MPI_ERR_ARG);
    CHECK_CALL(MPI_File_read_at_all(file, 0, got, 2, MPI_INT, &status));
    CHECK_BYTES(got, data, 2 * 4);
    MPI_Type_free(&comb);
    MPI_Type_free(&raw);
    /* Blocks at 0 and 3 with an extent of 2: 0 3, 2 5, 4 7, 6 9, ...: nothing is met twice. */
    MPI_Type_vector(2, 1, 3, MPI_INT, &raw);
    MPI_Type_create_resized(raw, 0, 8, &comb);
    MPI_Type_commit(&comb);
    CHECK_CALL(MPI_File_set_view(file, 0, MPI_INT, comb, "native", MPI_INFO_NULL));
    int order[8] = {0, 3, 2, 5, 4, 7, 6, 9};
    if (world_rank == 0) CHECK_CALL(MPI_File_write(file, data, 8, MPI_INT, &status));
    sync_all(file);
    CHECK_CALL(MPI_File_read_at_all(file, 0, got, 8, MPI_INT, &status));
    CHECK_BYTES(got, data, 8 * 4);
    for (int i = 0; i < 8; i++) {
        CHECK_CALL(MPI_File_get_byte_offset(file, i, &at));
        CHECK_INT(at, 4 * order[i]);
    }
    view_bytes(file);
    if (world_rank == 0) CHECK_CALL(MPI_File_write_at(file, 0, data, 16, MPI_INT, &status));
    CHECK_CALL(MPI_File_close(&file));
    CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    MPI_Type_indexed(2, lengths, places, MPI_INT, &twice);
    MPI_Type_commit(&twice);
    CHECK_CALL(MPI_File_set_view(file, 0, MPI_INT, twice, "native", MPI_INFO_NULL));
    int wanted[10] = {0, 1, 2, 1, 2, 3, 4, 5, 4, 5};
    CHECK_CALL(MPI_File_read_all(file, got, 10, MPI_INT, &status));
    CHECK_INT(count_of(&status, MPI_INT), 10);
    CHECK_BYTES(got, wanted, sizeof wanted);
    /* Every int and its neighbour: windows of two that move on by one. */
    MPI_Type_contiguous(2, MPI_INT, &raw);
    MPI_Type_create_resized(raw, 0, 4, &sliding);
    MPI_Type_commit(&sliding);
    CHECK_CALL(MPI_File_set_view(file, 4, MPI_INT, sliding, "native", MPI_INFO_NULL));
    memset(got, 0, sizeof got);
    CHECK_CALL(MPI_File_read(file, got, 8, MPI_INT, &status));
    for (int i = 0; i < 8; i++) CHECK_INT(got[i], 1 + i / 2 + i % 2);
    /* The end: the first etype behind the last byte of the file. */
    CHECK_CALL(MPI_File_seek(file, 0, MPI_SEEK_END));
    CHECK_CALL(MPI_File_get_position(file, &at));
    CHECK_INT(at, 29);
    CHECK_CALL(MPI_File_close(&file));
    MPI_Type_free(&twice);
    MPI_Type_free(&sliding);
    MPI_Type_free(&comb);
    return finish();
}
