/* ranks: 1 2 */
/* MPI 5.0 section 14.3: a new file has a view of bytes from 0 in the native representation; MPI_File_get_view returns what
 * was set, named types as themselves and others as copies that the program frees; a new view resets the pointers. The
 * types of a view may be freed while it is in force. */
#include "file_name.h"

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Datatype etype, filetype, vector;
    MPI_Offset disp, at;
    MPI_Status status;
    MPI_Aint lower, extent;
    int integers, addresses, types, combiner, size, data[6] = {1, 2, 3, 4, 5, 6}, got[6] = {0};
    char form[MPI_MAX_DATAREP_STRING];
    start(&argc, &argv);
    file = new_file("view-get");
    CHECK_CALL(MPI_File_get_view(file, &disp, &etype, &filetype, form));
    CHECK_INT(disp, 0);
    CHECK(etype == MPI_BYTE && filetype == MPI_BYTE);
    CHECK_STRING(form, "native");
    CHECK_CALL(MPI_File_seek(file, 77, MPI_SEEK_SET));
    CHECK_CALL(MPI_File_seek_shared(file, 78, MPI_SEEK_SET));
    MPI_Type_vector(3, 1, world_size, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, 12 * world_size, &filetype);
    MPI_Type_commit(&filetype);
    CHECK_CALL(MPI_File_set_view(file, 20 + 4 * world_rank, MPI_INT, filetype, "native", MPI_INFO_NULL));
    MPI_Type_free(&filetype);
    MPI_Type_free(&vector);
    CHECK_CALL(MPI_File_get_position(file, &at));
    CHECK_INT(at, 0);
    CHECK_CALL(MPI_File_get_position_shared(file, &at));
    CHECK_INT(at, 0);
    CHECK_CALL(MPI_File_get_view(file, &disp, &etype, &filetype, form));
    CHECK_INT(disp, 20 + 4 * world_rank);
    CHECK(etype == MPI_INT);
    CHECK_STRING(form, "native");
    CHECK_CALL(MPI_Type_get_envelope(filetype, &integers, &addresses, &types, &combiner));
    CHECK(combiner != MPI_COMBINER_NAMED);
    MPI_Type_size(filetype, &size);
    CHECK_INT(size, 12);
    MPI_Type_get_extent(filetype, &lower, &extent);
    CHECK_INT(extent, 12 * world_size);
    MPI_Type_free(&filetype);
    CHECK_CALL(MPI_File_write_all(file, data, 6, MPI_INT, &status));
    CHECK_CALL(MPI_File_get_byte_offset(file, 4, &at));
    CHECK_INT(at, 20 + 4 * world_rank + 16 * world_size);
    CHECK_CALL(MPI_File_read_at_all(file, 0, got, 6, MPI_INT, &status));
    CHECK_BYTES(got, data, sizeof data);
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
