/* ranks: 1 2 */
/* skip-mpich: ROMIO computes with offsets that do not fit, and takes views without extent for endless ones */
/* MPI 5.0 sections 14.4.3 and 14.4.4: a pointer, and the byte that an offset stands for, are values of MPI_Offset. What
 * does not fit is an error and moves nothing. A view whose copies lie on each other never comes to the file's end, so
 * there is no place to seek from there: all ranks of MPI_File_seek_shared fail, and none waits. */
#include "file_name.h"
#include <limits.h>

#define OFFSET_MAX ((MPI_Offset)LLONG_MAX)

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Offset at;
    MPI_Status status;
    MPI_Request request;
    MPI_Datatype same, sparse;
    char text[16] = "0123456789abcde";
    int value = 7;
    start(&argc, &argv);
    file = new_file("seek-limits");
    CHECK_CALL(MPI_File_write_at_all(file, 16 * world_rank, text, 16, MPI_BYTE, &status));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_seek(file, OFFSET_MAX, MPI_SEEK_SET));
    CHECK_CALL(MPI_File_get_position(file, &at));
    CHECK(at == OFFSET_MAX);
    CHECK_CLASS(MPI_File_seek(file, 1, MPI_SEEK_CUR), MPI_ERR_ARG);
    CHECK_CLASS(MPI_File_seek(file, OFFSET_MAX, MPI_SEEK_END), MPI_ERR_ARG);
    CHECK_CALL(MPI_File_get_position(file, &at));
    CHECK(at == OFFSET_MAX);
    /* An access there fails, and leaves the pointer where it can be told. */
    CHECK(MPI_File_write(file, &value, 1, MPI_INT, &status) != MPI_SUCCESS);
    CHECK(MPI_File_read_all(file, &value, 1, MPI_INT, &status) != MPI_SUCCESS);
    CHECK_CALL(MPI_File_get_position(file, &at));
    CHECK(at == OFFSET_MAX);
    CHECK(MPI_File_iread_at(file, OFFSET_MAX, &value, 1, MPI_INT, &request) != MPI_SUCCESS);
    CHECK_CALL(MPI_File_get_byte_offset(file, OFFSET_MAX, &at));
    CHECK(at == OFFSET_MAX);
    /* Offsets count etypes: the byte is eight times as far, or behind what can be told. */
    CHECK_CALL(MPI_File_set_view(file, 8, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL));
    CHECK_CALL(MPI_File_get_byte_offset(file, 1000, &at));
    CHECK_INT(at, 8008);
    CHECK_CLASS(MPI_File_get_byte_offset(file, OFFSET_MAX, &at), MPI_ERR_ARG);
    CHECK_CLASS(MPI_File_get_byte_offset(file, OFFSET_MAX / 8, &at), MPI_ERR_ARG);
    CHECK_CLASS(MPI_File_get_byte_offset(file, -1, &at), MPI_ERR_ARG);
    MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)1 << 40, &sparse);
    MPI_Type_commit(&sparse);
    CHECK_CALL(MPI_File_set_view(file, 0, MPI_INT, sparse, "native", MPI_INFO_NULL));
    CHECK_CALL(MPI_File_get_byte_offset(file, 3, &at));
    CHECK_INT(at, (long long)3 << 40);
    CHECK_CLASS(MPI_File_get_byte_offset(file, OFFSET_MAX / 16, &at), MPI_ERR_ARG);
    CHECK(MPI_File_write_at(file, OFFSET_MAX / 16, &value, 1, MPI_INT, &status) != MPI_SUCCESS);
    CHECK(MPI_File_write_at_all(file, OFFSET_MAX / 16, &value, 1, MPI_INT, &status) != MPI_SUCCESS);
    /* Its byte would be 2 to the power of 64, which must not be taken for 0. */
    CHECK(MPI_File_write_at(file, 1 << 24, &value, 1, MPI_INT, &status) != MPI_SUCCESS);
    CHECK_CALL(MPI_File_seek_shared(file, 1 << 24, MPI_SEEK_SET));
    CHECK(MPI_File_write_ordered(file, &value, 1, MPI_INT, &status) != MPI_SUCCESS);
    view_bytes(file);
    CHECK_CALL(MPI_File_read_at_all(file, 0, &value, 1, MPI_INT, &status));
    CHECK_BYTES(&value, "0123", 4);
    MPI_Type_free(&sparse);
    CHECK_CALL(MPI_File_close(&file));
    /* Such a view is for reading. */
    char name[64];
    file_name(name, sizeof name, "seek-limits-2");
    CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    CHECK_CALL(MPI_File_write_at_all(file, 16 * world_rank, text, 16, MPI_BYTE, &status));
    CHECK_CALL(MPI_File_close(&file));
    CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    MPI_Type_create_resized(MPI_BYTE, 0, 0, &same);
    MPI_Type_commit(&same);
    CHECK_CALL(MPI_File_set_view(file, 3, MPI_BYTE, same, "native", MPI_INFO_NULL));
    CHECK_CALL(MPI_File_seek(file, 2, MPI_SEEK_SET));
    CHECK_CLASS(MPI_File_seek(file, 0, MPI_SEEK_END), MPI_ERR_ARG);
    CHECK_CALL(MPI_File_get_position(file, &at));
    CHECK_INT(at, 2);
    CHECK_CLASS(MPI_File_seek_shared(file, 0, MPI_SEEK_END), MPI_ERR_ARG);
    CHECK_CALL(MPI_File_get_position_shared(file, &at));
    CHECK_INT(at, 0);
    MPI_Type_free(&same);
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
