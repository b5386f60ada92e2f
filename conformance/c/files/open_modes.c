/* ranks: 1 3 */
/* MPI 5.0 section 14.2.1: what the modes of MPI_File_open do. MPI_MODE_CREATE makes a file, MPI_MODE_EXCL wants it new,
 * MPI_MODE_APPEND sets all pointers to the end, MPI_MODE_DELETE_ON_CLOSE takes the file away; the mode and the group can
 * be asked for, and a process may open a file by itself. */
#include "file_name.h"

static int exists(const char *name) { return access(name, F_OK) == 0; }

int main(int argc, char **argv)
{
    char name[64], own[80];
    MPI_File file;
    MPI_Offset at;
    MPI_Group group, world;
    MPI_Status status;
    int amode, relation, data[4] = {1, 2, 3, 4}, got[4];
    start(&argc, &argv);
    file_name(name, sizeof name, "modes");
    CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY | MPI_MODE_UNIQUE_OPEN, MPI_INFO_NULL, &file));
    CHECK_CALL(MPI_File_get_amode(file, &amode));
    CHECK_INT(amode, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY | MPI_MODE_UNIQUE_OPEN);
    CHECK_CALL(MPI_File_get_group(file, &group));
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(group, world, &relation);
    CHECK_INT(relation, MPI_IDENT);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    CHECK_CALL(MPI_File_get_position(file, &at));
    CHECK_INT(at, 0);
    if (world_rank == 0) CHECK_CALL(MPI_File_write_at(file, 0, data, 4, MPI_INT, &status));
    CHECK_CALL(MPI_File_close(&file));
    CHECK(file == MPI_FILE_NULL);
    CHECK(exists(name));
    /* The pointers of an appending file are at its end, and what is there stays. */
    CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_APPEND | MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
    CHECK_CALL(MPI_File_get_position(file, &at));
    CHECK_INT(at, 16);
    CHECK_CALL(MPI_File_get_position_shared(file, &at));
    CHECK_INT(at, 16);
    CHECK_CALL(MPI_File_read_at(file, 0, got, 4, MPI_INT, &status));
    CHECK_BYTES(got, data, sizeof data);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_write_shared(file, &data[1], 1, MPI_INT, &status));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_get_size(file, &at));
    CHECK_INT(at, 16 + 4 * world_size);
    /* MPI_MODE_CREATE alone does not cut. */
    CHECK_CALL(MPI_File_close(&file));
    CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    CHECK_CALL(MPI_File_get_size(file, &at));
    CHECK_INT(at, 16 + 4 * world_size);
    CHECK_CALL(MPI_File_close(&file));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(!exists(name));
    /* Each process its own file. */
    snprintf(own, sizeof own, "%s-%d", name, world_rank);
    CHECK_CALL(MPI_File_open(MPI_COMM_SELF, own, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    CHECK_CALL(MPI_File_write(file, data, 4, MPI_INT, &status));
    CHECK_CALL(MPI_File_close(&file));
    CHECK_CALL(MPI_File_delete(own, MPI_INFO_NULL));
    CHECK(!exists(own));
    return finish();
}
