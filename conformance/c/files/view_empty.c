/* ranks: 1 2 4 */
/* MPI 5.0 section 14.3: a process may have no elements in a file: its filetype is made of no etypes, and it takes part in
 * collective calls with nothing. A filetype with a negative lower bound tiles by its extent like any other. */
#include "file_name.h"

enum { EACH = 5 };

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Datatype none, shifted;
    MPI_Status status;
    MPI_Offset at;
    int data[EACH], got[EACH], place = 0, length = 0;
    start(&argc, &argv);
    file = new_file("empty");
    MPI_Type_indexed(0, &length, &place, MPI_INT, &none);
    MPI_Type_commit(&none);
    /* The odd ranks have nothing. */
    int has = world_rank % 2 == 0;
    for (int i = 0; i < EACH; i++) data[i] = 100 * world_rank + i;
    CHECK_CALL(MPI_File_set_view(file, 4 * EACH * world_rank, MPI_INT, has ? MPI_INT : none, "native", MPI_INFO_NULL));
    CHECK_CALL(MPI_File_write_all(file, data, has ? EACH : 0, MPI_INT, &status));
    CHECK_INT(count_of(&status, MPI_INT), has ? EACH : 0);
    CHECK_CALL(MPI_File_read_at_all(file, 0, got, has ? EACH : 0, MPI_INT, &status));
    if (has) CHECK_BYTES(got, data, sizeof data);
    CHECK_CALL(MPI_File_get_position(file, &at));
    CHECK_INT(at, has ? EACH : 0);
    if (!has) CHECK_CALL(MPI_File_write(file, data, 0, MPI_INT, &status));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_get_size(file, &at));
    CHECK_INT(at, 4 * EACH * (world_size - (world_size % 2 == 0)));
    MPI_Barrier(MPI_COMM_WORLD);
    /* An int, with room of one int before and size - 2 behind it. */
    MPI_Type_create_resized(MPI_INT, -4, 4 * world_size, &shifted);
    MPI_Type_commit(&shifted);
    CHECK_CALL(MPI_File_set_view(file, 4 * world_rank, MPI_INT, shifted, "native", MPI_INFO_NULL));
    CHECK_CALL(MPI_File_write_all(file, data, EACH, MPI_INT, &status));
    CHECK_CALL(MPI_File_get_byte_offset(file, 3, &at));
    CHECK_INT(at, 4 * world_rank + 3 * 4 * world_size);
    sync_all(file);
    view_bytes(file);
    for (int i = 0; i < EACH * world_size; i++) {
        int value;
        CHECK_CALL(MPI_File_read_at(file, 4 * i, &value, 1, MPI_INT, &status));
        CHECK_INT(value, 100 * (i % world_size) + i / world_size);
    }
    CHECK_CALL(MPI_File_close(&file));
    MPI_Type_free(&none);
    MPI_Type_free(&shifted);
    return finish();
}
