/* ranks: 1 2 */
/* MPI 5.0 sections 5.1.12 and 14.4: the memory of an access is described by any datatype: with holes, with absolute
 * addresses from MPI_BOTTOM, with a negative lower bound; holes in memory stay as they are; and a view with holes may be
 * combined with it. Counts are of the datatype. */
#include "file_name.h"

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Status status;
    MPI_Datatype every_other, absolute, reversed, raw, holes;
    unsigned char before[600];
    int data[20], got[20], first = 41, second[3] = {1, 2, 3}, lengths[2] = {1, 2};
    MPI_Aint places[2];
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    start(&argc, &argv);
    file = new_file("memory");
    MPI_Offset base = 1000 * world_rank;
    memset(before, 7, sizeof before);
    CHECK_CALL(MPI_File_write_at(file, base, before, sizeof before, MPI_BYTE, &status));
    sync_all(file);
    for (int i = 0; i < 20; i++) data[i] = 100 * world_rank + i;
    MPI_Type_vector(5, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    CHECK_CALL(MPI_File_write_at_all(file, base, data, 2, every_other, &status));
    CHECK_INT(count_of(&status, every_other), 2);
    CHECK_INT(count_of(&status, MPI_INT), 10);
    CHECK_CALL(MPI_File_read_at(file, base, got, 10, MPI_INT, &status));
    for (int i = 0; i < 10; i++) CHECK_INT(got[i], data[i < 5 ? 2 * i : 2 * i - 1]);
    memset(got, 0xff, sizeof got);
    CHECK_CALL(MPI_File_read_at_all(file, base, got, 1, every_other, &status));
    for (int i = 0; i < 10; i++) CHECK_INT(got[i], i % 2 ? -1 : data[i]);
    /* Two variables, wherever they lie. */
    MPI_Get_address(&first, &places[0]);
    MPI_Get_address(&second[1], &places[1]);
    MPI_Type_create_struct(2, lengths, places, types, &absolute);
    MPI_Type_commit(&absolute);
    CHECK_CALL(MPI_File_write_at(file, base + 100, MPI_BOTTOM, 1, absolute, &status));
    first = second[1] = second[2] = 0;
    CHECK_CALL(MPI_File_read_at_all(file, base + 100, MPI_BOTTOM, 1, absolute, &status));
    CHECK_INT(first, 41);
    CHECK_INT(second[0], 1);
    CHECK_INT(second[1], 2);
    CHECK_INT(second[2], 3);
    /* Backwards from the last. */
    MPI_Type_vector(20, 1, -1, MPI_INT, &reversed);
    MPI_Type_commit(&reversed);
    CHECK_CALL(MPI_File_write_at_all(file, base + 200, data + 19, 1, reversed, &status));
    CHECK_CALL(MPI_File_read_at_all(file, base + 200, got, 20, MPI_INT, &status));
    for (int i = 0; i < 20; i++) CHECK_INT(got[i], data[19 - i]);
    /* Holes in both. */
    MPI_Type_vector(2, 1, 2, MPI_INT, &raw);
    MPI_Type_create_resized(raw, 0, 20, &holes);
    MPI_Type_commit(&holes);
    CHECK_CALL(MPI_File_set_view(file, base + 400, MPI_INT, holes, "native", MPI_INFO_NULL));
    CHECK_CALL(MPI_File_write_all(file, data, 2, every_other, &status));
    memset(got, 0xff, sizeof got);
    CHECK_CALL(MPI_File_read_at_all(file, 0, got, 2, every_other, &status));
    for (int i = 0; i < 9; i++) CHECK_INT(got[i], i % 2 ? -1 : data[i]);
    view_bytes(file);
    CHECK_CALL(MPI_File_read_at(file, base + 400, got, 5, MPI_INT, &status));
    CHECK_INT(got[0], data[0]);
    CHECK_INT(got[1], 0x07070707);
    CHECK_INT(got[2], data[2]);
    MPI_Type_free(&every_other);
    MPI_Type_free(&absolute);
    MPI_Type_free(&reversed);
    MPI_Type_free(&raw);
    MPI_Type_free(&holes);
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
