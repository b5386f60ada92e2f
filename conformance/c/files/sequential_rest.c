/* ranks: 1 2 */
/* skip-mpich: ROMIO 5.0.2 lets MPI_File_set_size and MPI_File_preallocate pass, and has another class for disp */
/* MPI 5.0 sections 14.2.4, 14.2.5, 14.3, 14.4.3 and 14.4.4: on a sequential file it is erroneous to change the size, to
 * reserve room, to ask for the shared pointer, and to give another displacement than MPI_DISPLACEMENT_CURRENT. */
#include "file_name.h"

int main(int argc, char **argv)
{
    char name[64];
    MPI_File file;
    MPI_Offset at;
    start(&argc, &argv);
    file_name(name, sizeof name, "sequential-rest");
    CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    CHECK_CLASS(MPI_File_set_size(file, 10), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK_CLASS(MPI_File_preallocate(file, 10), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK_CLASS(MPI_File_get_position_shared(file, &at), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK_CLASS(MPI_File_get_byte_offset(file, 0, &at), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) != MPI_SUCCESS);
    CHECK_CALL(MPI_File_get_size(file, &at));
    CHECK_INT(at, 0);
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
