/* ranks: 2 3 */
/* skip-mpich: ROMIO gives MPI_ERR_AMODE or MPI_ERR_OTHER where modes differ, and hangs on refused arguments */
/* MPI 5.0 sections 14.2.1 and 14.7: all processes give the same mode, and MPI_ERR_NOT_SAME is for collective arguments
 * that differ. An argument that one process alone gets wrong fails on all: none waits. */
#include "file_name.h"

int main(int argc, char **argv)
{
    char name[64];
    MPI_File file = MPI_FILE_NULL;
    MPI_Info info = MPI_INFO_NULL, stale;
    int last, amode = MPI_MODE_CREATE | MPI_MODE_RDWR;
    start(&argc, &argv);
    last = world_rank == world_size - 1;
    file_name(name, sizeof name, "not-same");
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, name, last ? amode | MPI_MODE_EXCL : amode, MPI_INFO_NULL, &file), MPI_ERR_NOT_SAME);
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, last ? 0 : amode, MPI_INFO_NULL, &file) != MPI_SUCCESS);
    CHECK(file == MPI_FILE_NULL);
    /* The name of one rank is in no folder. */
    CHECK(MPI_File_open(MPI_COMM_WORLD, last ? "no-such-folder/file" : name, amode, MPI_INFO_NULL, &file) != MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    if (last) MPI_File_delete(name, MPI_INFO_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, world_rank ? name : "no-such-folder/file", amode, MPI_INFO_NULL, &file), MPI_ERR_NO_SUCH_FILE);
    /* A freed info object on one rank. */
    MPI_Info_create(&info);
    stale = info;
    MPI_Info_free(&info);
    int code = MPI_File_open(MPI_COMM_WORLD, name, amode, last ? stale : MPI_INFO_NULL, &file);
    if (last) CHECK_CLASS(code, MPI_ERR_INFO);
    CHECK(code != MPI_SUCCESS);
    CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, name, amode | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
