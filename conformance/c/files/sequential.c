/* ranks: 1 3 */
/* MPI 5.0 sections 14.2.1, 14.3 and 14.4: a sequential file has the shared pointer only: routines with an offset or with
 * the individual pointer, seeking, asking for positions and changing sizes are errors. Its view can change only at the
 * pointer (MPI_DISPLACEMENT_CURRENT), so data of different kinds follow each other. */
#include "file_name.h"

int main(int argc, char **argv)
{
    char name[64];
    MPI_File file;
    MPI_Status status;
    MPI_Offset at;
    char byte = (char)('a' + world_rank), letter;
    int number, sum = 0;
    start(&argc, &argv);
    file_name(name, sizeof name, "sequential");
    byte = (char)('a' + world_rank);
    CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &file));
    CHECK_CALL(MPI_File_write_ordered(file, &byte, 1, MPI_CHAR, &status));
    CHECK_CLASS(MPI_File_write(file, &byte, 1, MPI_CHAR, &status), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK_CLASS(MPI_File_write_at(file, 0, &byte, 1, MPI_CHAR, &status), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK_CLASS(MPI_File_write_all(file, &byte, 1, MPI_CHAR, &status), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK_CLASS(MPI_File_write_at_all(file, 0, &byte, 1, MPI_CHAR, &status), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK_CLASS(MPI_File_seek(file, 0, MPI_SEEK_SET), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK_CLASS(MPI_File_seek_shared(file, 0, MPI_SEEK_SET), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK_CLASS(MPI_File_get_position(file, &at), MPI_ERR_UNSUPPORTED_OPERATION);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    number = 100 + world_rank;
    CHECK_CALL(MPI_File_write_shared(file, &number, 1, MPI_INT, &status));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_get_size(file, &at));
    CHECK_INT(at, 5 * world_size);
    CHECK_CALL(MPI_File_close(&file));
    CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    CHECK_CALL(MPI_File_read_ordered(file, &letter, 1, MPI_CHAR, &status));
    CHECK_INT(letter, byte);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    CHECK_CALL(MPI_File_read_shared(file, &number, 1, MPI_INT, &status));
    MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_INT(sum, 100 * world_size + world_size * (world_size - 1) / 2);
    /* Nothing is left. */
    CHECK_CALL(MPI_File_read_shared(file, &number, 1, MPI_INT, &status));
    CHECK_INT(count_of(&status, MPI_INT), 0);
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
