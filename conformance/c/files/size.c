/* ranks: 1 2 */
/* MPI 5.0 sections 14.2.4 to 14.2.6: MPI_File_set_size cuts or lengthens and moves no pointer; MPI_File_preallocate
 * lengthens to at least the size and never cuts; sizes are bytes, whatever the view. */
#include "file_name.h"

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Offset size, at;
    MPI_Status status;
    int data[100], got[100];
    start(&argc, &argv);
    file = new_file("size");
    CHECK_CALL(MPI_File_get_size(file, &size));
    CHECK_INT(size, 0);
    for (int i = 0; i < 100; i++) data[i] = i + 1;
    CHECK_CALL(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    CHECK_CALL(MPI_File_write_all(file, data, 100, MPI_INT, &status));
    CHECK_CALL(MPI_File_seek_shared(file, 90, MPI_SEEK_SET));
    CHECK_CALL(MPI_File_set_size(file, 202));
    CHECK_CALL(MPI_File_get_size(file, &size));
    CHECK_INT(size, 202);
    CHECK_CALL(MPI_File_get_position(file, &at));
    CHECK_INT(at, 100);
    CHECK_CALL(MPI_File_get_position_shared(file, &at));
    CHECK_INT(at, 90);
    CHECK_CALL(MPI_File_read_at(file, 60, got, 40, MPI_INT, &status));
    CHECK_INT(count_of(&status, MPI_INT), 0);
    CHECK_CALL(MPI_File_read_at(file, 0, got, 50, MPI_INT, &status));
    CHECK_INT(count_of(&status, MPI_INT), 50);
    CHECK_BYTES(got, data, 200);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_preallocate(file, 100));
    CHECK_CALL(MPI_File_get_size(file, &size));
    CHECK_INT(size, 202);
    CHECK_CALL(MPI_File_preallocate(file, 4096));
    CHECK_CALL(MPI_File_get_size(file, &size));
    CHECK_INT(size, 4096);
    CHECK_CALL(MPI_File_read_at(file, 0, got, 50, MPI_INT, &status));
    CHECK_BYTES(got, data, 200);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_set_size(file, 8192));
    CHECK_CALL(MPI_File_get_size(file, &size));
    CHECK_INT(size, 8192);
    CHECK_CALL(MPI_File_get_position(file, &at));
    CHECK_INT(at, 100);
    /* The end is that of the file, for pointers of this rank and for all. */
    CHECK_CALL(MPI_File_seek(file, 0, MPI_SEEK_END));
    CHECK_CALL(MPI_File_get_position(file, &at));
    CHECK_INT(at, 2048);
    CHECK_CALL(MPI_File_seek_shared(file, -8, MPI_SEEK_END));
    CHECK_CALL(MPI_File_get_position_shared(file, &at));
    CHECK_INT(at, 2040);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CLASS(MPI_File_set_size(file, -1), MPI_ERR_ARG);
    CHECK_CLASS(MPI_File_preallocate(file, -1), MPI_ERR_ARG);
    CHECK_CALL(MPI_File_set_size(file, 0));
    CHECK_CALL(MPI_File_get_size(file, &size));
    CHECK_INT(size, 0);
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
