/* ranks: 1 2 */
/* MPI 5.0 sections 14.2.2 and 19.3.4: a file stays open when its communicator is freed; its handle has a Fortran form and
 * comes back from it; a closed handle is not a file any more; many files are open at once, each with its own pointers. */
#include "file_name.h"

enum { FILES = 20 };

int main(int argc, char **argv)
{
    char name[64], each[80];
    MPI_Comm copy;
    MPI_File files[FILES];
    MPI_Status status;
    MPI_Offset at;
    int value;
    start(&argc, &argv);
    file_name(name, sizeof name, "handles");
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    for (int i = 0; i < FILES; i++) {
        snprintf(each, sizeof each, "%s-%d", name, i);
        CHECK_CALL(MPI_File_open(copy, each, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &files[i]));
    }
    MPI_Comm_free(&copy);
    for (int i = 0; i < FILES; i++) {
        value = 10 * i + world_rank;
        CHECK_CALL(MPI_File_seek(files[i], 4 * world_rank + i, MPI_SEEK_SET));
        CHECK_CALL(MPI_File_write_all(files[i], &value, 1, MPI_INT, &status));
        CHECK(MPI_File_f2c(MPI_File_c2f(files[i])) == files[i]);
    }
    CHECK(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
    for (int i = FILES - 1; i >= 0; i--) {
        CHECK_CALL(MPI_File_get_position(files[i], &at));
        CHECK_INT(at, 4 * world_rank + i + 4);
        CHECK_CALL(MPI_File_read_at_all(files[i], 4 * world_rank + i, &value, 1, MPI_INT, &status));
        CHECK_INT(value, 10 * i + world_rank);
        CHECK_CALL(MPI_File_close(&files[i]));
        CHECK(files[i] == MPI_FILE_NULL);
    }
    return finish();
}
