/* ranks: 1 2 */
/* skip-mpich: ROMIO 5.0.2 checks the mode late in accesses at the shared pointer, and refuses to sync a file for reading */
/* MPI 5.0 sections 14.2.1 and 14.4.4: what a mode forbids it forbids at the shared pointer, too, and the pointer does not
 * move. MPI_File_sync of a file that is only read has nothing to do and succeeds. */
#include "file_name.h"

int main(int argc, char **argv)
{
    char name[64];
    MPI_File file;
    MPI_Status status;
    MPI_Offset at;
    int value = 5;
    start(&argc, &argv);
    file_name(name, sizeof name, "wrong-way-shared");
    CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    CHECK_CLASS(MPI_File_read_shared(file, &value, 1, MPI_INT, &status), MPI_ERR_ACCESS);
    CHECK_CLASS(MPI_File_read_ordered(file, &value, 1, MPI_INT, &status), MPI_ERR_ACCESS);
    CHECK_CALL(MPI_File_get_position_shared(file, &at));
    CHECK_INT(at, 0);
    CHECK_CALL(MPI_File_close(&file));
    CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    CHECK_CLASS(MPI_File_write_shared(file, &value, 1, MPI_INT, &status), MPI_ERR_READ_ONLY);
    CHECK_CLASS(MPI_File_write_ordered(file, &value, 1, MPI_INT, &status), MPI_ERR_READ_ONLY);
    CHECK_CLASS(MPI_File_preallocate(file, 100), MPI_ERR_READ_ONLY);
    CHECK_CALL(MPI_File_get_position_shared(file, &at));
    CHECK_INT(at, 0);
    CHECK_CALL(MPI_File_sync(file));
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
