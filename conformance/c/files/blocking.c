/* ranks: 1 2 4 */
/* MPI 5.0 §14.2, §14.4: what a rank writes at an explicit offset or at its pointer is what every rank reads after a sync
 * and a barrier; offsets count etypes of the view, MPI_Get_count tells what was read, and reading at the end gives less. */
#include "file_name.h"

enum { COUNT = 1000 };

int main(int argc, char **argv)
{
    char name[64];
    MPI_File file;
    MPI_Status status;
    MPI_Offset offset;
    int data[COUNT], got[COUNT], count, amode;
    start(&argc, &argv);
    file_name(name, sizeof name, "blocking");
    CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    CHECK_CALL(MPI_File_get_amode(file, &amode));
    CHECK_INT(amode, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    CHECK_CALL(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    for (int i = 0; i < COUNT; i++) data[i] = world_rank * COUNT + i;
    CHECK_CALL(MPI_File_write_at(file, world_rank * COUNT, data, COUNT / 2, MPI_INT, &status));
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK_INT(count, COUNT / 2);
    CHECK_CALL(MPI_File_seek(file, world_rank * COUNT + COUNT / 2, MPI_SEEK_SET));
    CHECK_CALL(MPI_File_write(file, data + COUNT / 2, COUNT / 2, MPI_INT, &status));
    CHECK_CALL(MPI_File_get_position(file, &offset));
    CHECK_INT(offset, (world_rank + 1) * COUNT);
    CHECK_CALL(MPI_File_sync(file));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_get_size(file, &offset));
    CHECK_INT(offset, world_size * COUNT * sizeof(int));
    for (int rank = 0; rank < world_size; rank++) {
        memset(got, -1, sizeof got);
        CHECK_CALL(MPI_File_read_at(file, rank * COUNT, got, COUNT, MPI_INT, &status));
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK_INT(count, COUNT);
        for (int i = 0; i < COUNT; i++) CHECK_INT(got[i], rank * COUNT + i);
    }
    /* Half of it is behind the end. */
    memset(got, -1, sizeof got);
    CHECK_CALL(MPI_File_read_at(file, world_size * COUNT - COUNT / 2, got, COUNT, MPI_INT, &status));
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK_INT(count, COUNT / 2);
    CHECK_INT(got[COUNT / 2], -1);
    CHECK_CALL(MPI_File_seek(file, -3, MPI_SEEK_END));
    CHECK_CALL(MPI_File_get_position(file, &offset));
    CHECK_INT(offset, world_size * COUNT - 3);
    CHECK_CALL(MPI_File_seek(file, 1, MPI_SEEK_CUR));
    CHECK_CALL(MPI_File_read(file, got, 1, MPI_INT, &status));
    CHECK_INT(got[0], world_size * COUNT - 2);
    CHECK_CALL(MPI_File_set_size(file, 10 * sizeof(int)));
    CHECK_CALL(MPI_File_get_size(file, &offset));
    CHECK_INT(offset, 10 * sizeof(int));
    CHECK_CALL(MPI_File_preallocate(file, 4096));
    CHECK_CALL(MPI_File_get_size(file, &offset));
    CHECK_INT(offset, 4096);
    CHECK_CALL(MPI_File_close(&file));
    CHECK(file == MPI_FILE_NULL);
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file), MPI_ERR_NO_SUCH_FILE);
    return finish();
}
