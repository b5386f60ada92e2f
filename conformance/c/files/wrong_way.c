/* ranks: 1 2 */
/* MPI 5.0 section 14.2.1 and 14.7: a file opened for reading only is not written (MPI_ERR_READ_ONLY), one opened for
 * writing only is not read (MPI_ERR_ACCESS), by no routine, collective ones included, and its size is not changed. */
#include "file_name.h"

int main(int argc, char **argv)
{
    char name[64];
    MPI_File file;
    MPI_Status status;
    MPI_Offset size;
    MPI_Request request;
    int value = 5;
    start(&argc, &argv);
    file_name(name, sizeof name, "wrong-way");
    CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    CHECK_CALL(MPI_File_write_at(file, 4 * world_rank, &value, 1, MPI_INT, &status));
    CHECK_CLASS(MPI_File_read(file, &value, 1, MPI_INT, &status), MPI_ERR_ACCESS);
    CHECK_CLASS(MPI_File_read_at(file, 0, &value, 1, MPI_INT, &status), MPI_ERR_ACCESS);
    CHECK_CLASS(MPI_File_read_all(file, &value, 1, MPI_INT, &status), MPI_ERR_ACCESS);
    CHECK_CLASS(MPI_File_read_at_all(file, 0, &value, 1, MPI_INT, &status), MPI_ERR_ACCESS);
    CHECK_CALL(MPI_File_close(&file));
    CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    CHECK_CLASS(MPI_File_write(file, &value, 1, MPI_INT, &status), MPI_ERR_READ_ONLY);
    CHECK_CLASS(MPI_File_write_at(file, 0, &value, 1, MPI_INT, &status), MPI_ERR_READ_ONLY);
    CHECK_CLASS(MPI_File_write_all(file, &value, 1, MPI_INT, &status), MPI_ERR_READ_ONLY);
    CHECK_CLASS(MPI_File_write_at_all(file, 0, &value, 1, MPI_INT, &status), MPI_ERR_READ_ONLY);
    CHECK_CLASS(MPI_File_iwrite(file, &value, 1, MPI_INT, &request), MPI_ERR_READ_ONLY);
    CHECK_CLASS(MPI_File_iwrite_at(file, 0, &value, 1, MPI_INT, &request), MPI_ERR_READ_ONLY);
    CHECK_CLASS(MPI_File_set_size(file, 100), MPI_ERR_READ_ONLY);
    CHECK_CALL(MPI_File_get_size(file, &size));
    CHECK_INT(size, 4 * world_size);
    value = 0;
    CHECK_CALL(MPI_File_read_at(file, 4 * world_rank, &value, 1, MPI_INT, &status));
    CHECK_INT(value, 5);
    CHECK_CALL(MPI_File_close(&file));
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0) {
        CHECK_CALL(MPI_File_delete(name, MPI_INFO_NULL));
        CHECK_CLASS(MPI_File_delete(name, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
    }
    return finish();
}
