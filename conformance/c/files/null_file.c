/* ranks: 1 2 */
/* skip-mpich: 5.0.2 crashes on MPI_FILE_NULL and on closed handles */
/* MPI 5.0 sections 9.4 and 14.7: MPI_FILE_NULL and the handle of a closed file are no files (MPI_ERR_FILE), for every call,
 * and the error goes to the handler of MPI_FILE_NULL, which returns. */
#include "file_name.h"

static void refuse(MPI_File file)
{
    MPI_Status status;
    MPI_Offset at;
    MPI_Info info;
    MPI_Group group;
    MPI_Request request;
    MPI_File copy = file;
    int value = 0;
    CHECK_CLASS(MPI_File_read(file, &value, 1, MPI_INT, &status), MPI_ERR_FILE);
    CHECK_CLASS(MPI_File_write_at_all(file, 0, &value, 1, MPI_INT, &status), MPI_ERR_FILE);
    CHECK_CLASS(MPI_File_iread_shared(file, &value, 1, MPI_INT, &request), MPI_ERR_FILE);
    CHECK_CLASS(MPI_File_write_ordered_begin(file, &value, 1, MPI_INT), MPI_ERR_FILE);
    CHECK_CLASS(MPI_File_write_ordered_end(file, &value, &status), MPI_ERR_FILE);
    CHECK_CLASS(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_FILE);
    CHECK_CLASS(MPI_File_get_size(file, &at), MPI_ERR_FILE);
    CHECK_CLASS(MPI_File_set_size(file, 1), MPI_ERR_FILE);
    CHECK_CLASS(MPI_File_get_info(file, &info), MPI_ERR_FILE);
    CHECK_CLASS(MPI_File_get_group(file, &group), MPI_ERR_FILE);
    CHECK_CLASS(MPI_File_sync(file), MPI_ERR_FILE);
    CHECK_CLASS(MPI_File_seek_shared(file, 0, MPI_SEEK_SET), MPI_ERR_FILE);
    CHECK_CLASS(MPI_File_close(&copy), MPI_ERR_FILE);
}

int main(int argc, char **argv)
{
    MPI_File file, stale;
    start(&argc, &argv);
    refuse(MPI_FILE_NULL);
    file = new_file("null-file");
    stale = file;
    CHECK_CALL(MPI_File_close(&file));
    refuse(stale);
    return finish();
}
