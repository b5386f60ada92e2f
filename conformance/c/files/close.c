/* ranks: 1 2 3 */
/* skip-mpich: ROMIO deletes by the name as it was given, wherever the program is by then */
/* MPI 5.0 section 14.2.2: closing a file that was opened with MPI_MODE_DELETE_ON_CLOSE deletes the file that was opened,
 * also when the program works in another folder by then. A file that is gone already is an error of MPI_File_delete;
 * the handle is MPI_FILE_NULL afterwards all the same, and other files go on. */
#include "file_name.h"
#include <sys/stat.h>

int main(int argc, char **argv)
{
    char name[64], here[4096], there[96], inside[192];
    struct stat about;
    MPI_File file, other;
    int value = 3, kept = 0, code, class = 0;
    MPI_Status status;
    start(&argc, &argv);
    file_name(name, sizeof name, "close");
    snprintf(there, sizeof there, "%s.d", name);
    snprintf(inside, sizeof inside, "%s/%s", there, name);
    CHECK(getcwd(here, sizeof here) != NULL);
    if (world_rank == 0) {
        CHECK(mkdir(there, 0700) == 0);
        FILE *decoy = fopen(inside, "w");
        CHECK(decoy != NULL && fclose(decoy) == 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    CHECK_CALL(MPI_File_write_at(file, 4 * world_rank, &value, 1, MPI_INT, &status));
    CHECK(chdir(there) == 0);
    CHECK_CALL(MPI_File_close(&file));
    CHECK(chdir(here) == 0);
    CHECK(file == MPI_FILE_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(stat(name, &about) != 0);
    CHECK(stat(inside, &about) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0) {
        unlink(inside);
        rmdir(there);
    }
    /* Gone before it is closed. */
    other = new_file("close-other");
    CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0) CHECK_CALL(MPI_File_delete(name, MPI_INFO_NULL));
    MPI_Barrier(MPI_COMM_WORLD);
    code = MPI_File_close(&file);
    MPI_Error_class(code, &class);
    CHECK_INT(class, MPI_ERR_NO_SUCH_FILE);
    CHECK(file == MPI_FILE_NULL);
    CHECK_CALL(MPI_File_write_ordered(other, &value, 1, MPI_INT, &status));
    CHECK_CALL(MPI_File_read_at_all(other, 0, &kept, 1, MPI_INT, &status));
    CHECK_INT(kept, 3);
    CHECK_CALL(MPI_File_close(&other));
    return finish();
}
