/* ranks: 1 2 4 */
/* MPI 5.0 section 14.4.5: split collectives do what their one-call forms do, and the status comes with the end. Computing
 * and other accesses of this process's own may lie between. */
#include "file_name.h"

enum { EACH = 300 };

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Status status;
    MPI_Offset at;
    MPI_Datatype raw, every;
    int data[EACH], got[EACH], other = 5;
    start(&argc, &argv);
    file = new_file("split");
    for (int i = 0; i < EACH; i++) data[i] = 1000 * world_rank + i;
    MPI_Type_contiguous(1, MPI_INT, &raw);
    MPI_Type_create_resized(raw, 0, 4 * world_size, &every);
    MPI_Type_commit(&every);
    CHECK_CALL(MPI_File_set_view(file, 4 * world_rank, MPI_INT, every, "native", MPI_INFO_NULL));
    CHECK_CALL(MPI_File_write_all_begin(file, data, EACH / 2, MPI_INT));
    CHECK_CALL(MPI_File_write_at(file, EACH + 7, &other, 1, MPI_INT, &status));
    CHECK_CALL(MPI_File_write_all_end(file, data, &status));
    CHECK_INT(count_of(&status, MPI_INT), EACH / 2);
    CHECK_CALL(MPI_File_write_at_all_begin(file, EACH / 2, data + EACH / 2, EACH / 2, MPI_INT));
    CHECK_CALL(MPI_File_write_at_all_end(file, data + EACH / 2, MPI_STATUS_IGNORE));
    sync_all(file);
    memset(got, 0, sizeof got);
    CHECK_CALL(MPI_File_read_at_all_begin(file, 0, got, EACH, MPI_INT));
    CHECK_CALL(MPI_File_read_at_all_end(file, got, &status));
    CHECK_INT(count_of(&status, MPI_INT), EACH);
    CHECK_BYTES(got, data, sizeof data);
    CHECK_CALL(MPI_File_seek(file, 10, MPI_SEEK_SET));
    CHECK_CALL(MPI_File_read_all_begin(file, got, 20, MPI_INT));
    CHECK_CALL(MPI_File_read_all_end(file, got, &status));
    CHECK_BYTES(got, data + 10, 80);
    CHECK_CALL(MPI_File_get_position(file, &at));
    CHECK_INT(at, 30);
    CHECK_CALL(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    CHECK_CALL(MPI_File_write_ordered_begin(file, data, world_rank, MPI_INT));
    CHECK_CALL(MPI_File_write_ordered_end(file, data, &status));
    CHECK_INT(count_of(&status, MPI_INT), world_rank);
    sync_all(file);
    CHECK_CALL(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    memset(got, 0, sizeof got);
    CHECK_CALL(MPI_File_read_ordered_begin(file, got, world_rank, MPI_INT));
    CHECK_CALL(MPI_File_read_ordered_end(file, got, &status));
    CHECK_BYTES(got, data, 4 * world_rank);
    CHECK_CALL(MPI_File_close(&file));
    MPI_Type_free(&raw);
    MPI_Type_free(&every);
    return finish();
}
