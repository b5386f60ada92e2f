/* ranks: 1 2 */
/* MPI 5.0 sections 14.1.1 and 14.4.2: offsets and pointers count etypes, holes left out; an etype may have holes itself;
 * MPI_File_get_byte_offset turns them into bytes. Here an etype is an int and a double 4 bytes behind it, and the
 * filetype takes the first and the third of every four. */
#include "file_name.h"
#include <stddef.h>

typedef struct { int number; double value; } pair;

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Datatype etype, raw, two, filetype;
    MPI_Status status;
    MPI_Offset offset;
    int lengths[2] = {1, 1}, places[2] = {0, 2};
    MPI_Aint fields[2] = {offsetof(pair, number), offsetof(pair, value)}, extent;
    MPI_Datatype parts[2] = {MPI_INT, MPI_DOUBLE};
    pair data[6], got[6];
    unsigned char hole[4], before[400], wanted[4] = {7, 7, 7, 7};
    start(&argc, &argv);
    file = new_file("etypes");
    memset(before, 7, sizeof before);
    if (world_rank == 0) CHECK_CALL(MPI_File_write_at(file, 0, before, sizeof before, MPI_BYTE, &status));
    sync_all(file);
    MPI_Type_create_struct(2, lengths, fields, parts, &raw);
    MPI_Type_create_resized(raw, 0, sizeof(pair), &etype);
    MPI_Type_commit(&etype);
    MPI_Type_indexed(2, lengths, places, etype, &two);
    MPI_Type_create_resized(two, 0, 4 * sizeof(pair), &filetype);
    MPI_Type_commit(&filetype);
    MPI_Offset disp = 8 + world_rank * (MPI_Offset)sizeof(pair);
    CHECK_CALL(MPI_File_set_view(file, disp, etype, filetype, "native", MPI_INFO_NULL));
    CHECK_CALL(MPI_File_get_type_extent(file, etype, &extent));
    CHECK_INT(extent, sizeof(pair));
    for (int i = 0; i < 5; i++) {
        CHECK_CALL(MPI_File_get_byte_offset(file, i, &offset));
        CHECK_INT(offset, disp + (i / 2 * 4 + i % 2 * 2) * (MPI_Offset)sizeof(pair));
    }
    memset(data, 0, sizeof data);
    for (int i = 0; i < 6; i++) data[i] = (pair){10 * world_rank + i, i + 0.5};
    CHECK_CALL(MPI_File_write_at(file, 1, data, 6, etype, &status));
    CHECK_INT(count_of(&status, etype), 6);
    memset(got, 0, sizeof got);
    CHECK_CALL(MPI_File_seek(file, 1, MPI_SEEK_SET));
    CHECK_CALL(MPI_File_read(file, got, 6, etype, &status));
    for (int i = 0; i < 6; i++) {
        CHECK_INT(got[i].number, data[i].number);
        CHECK_DOUBLE(got[i].value, data[i].value);
    }
    CHECK_CALL(MPI_File_get_position(file, &offset));
    CHECK_INT(offset, 7);
    /* Less than an etype cannot be accessed. */
    int one = 7;
    CHECK(MPI_File_write_at(file, 0, &one, 1, MPI_INT, &status) != MPI_SUCCESS);
    sync_all(file);
    view_bytes(file);
    /* The hole between int and double keeps what was there. */
    CHECK_CALL(MPI_File_read_at(file, disp + 2 * sizeof(pair) + 4, hole, 4, MPI_BYTE, &status));
    if (sizeof(pair) == 16) CHECK_BYTES(hole, wanted, 4);
    CHECK_CALL(MPI_File_read_at(file, disp + 2 * sizeof(pair), &one, 1, MPI_INT, &status));
    CHECK_INT(one, 10 * world_rank);
    CHECK_CALL(MPI_File_close(&file));
    MPI_Type_free(&etype);
    MPI_Type_free(&raw);
    MPI_Type_free(&two);
    MPI_Type_free(&filetype);
    return finish();
}
