/* ranks: 1 2 */
/* MPI 5.0 section 14.4: every access has a form with MPI_Count; offsets are 64 bits wide, so a file may have data behind
 * byte 2^32 and a hole before it. */
#include "file_name.h"

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Status status;
    MPI_Request request;
    MPI_Offset far = ((MPI_Offset)5 << 30) + 8 * world_rank, at;
    MPI_Count count = 1, elements, one = 1;
    double data, got = 0;
    start(&argc, &argv);
    far = ((MPI_Offset)5 << 30) + 8 * world_rank;
    data = 1.5 + world_rank;
    file = new_file("large");
    CHECK_CALL(MPI_File_write_at_c(file, far, &data, count, MPI_DOUBLE, &status));
    CHECK_CALL(MPI_File_read_at_c(file, far, &got, count, MPI_DOUBLE, &status));
    CHECK_DOUBLE(got, data);
    MPI_Get_count_c(&status, MPI_DOUBLE, &elements);
    CHECK_INT(elements, 1);
    CHECK_CALL(MPI_File_write_at_all_c(file, far, &data, one, MPI_DOUBLE, &status));
    CHECK_CALL(MPI_File_read_at_all_c(file, far, &got, one, MPI_DOUBLE, &status));
    CHECK_CALL(MPI_File_iwrite_at_c(file, far, &data, one, MPI_DOUBLE, &request));
    CHECK_CALL(MPI_Wait(&request, &status));
    CHECK_CALL(MPI_File_iread_at_all_c(file, far, &got, one, MPI_DOUBLE, &request));
    CHECK_CALL(MPI_Wait(&request, &status));
    CHECK_CALL(MPI_File_write_at_all_begin_c(file, far, &data, one, MPI_DOUBLE));
    CHECK_CALL(MPI_File_write_at_all_end(file, &data, &status));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_get_size(file, &at));
    CHECK_INT(at, ((MPI_Offset)5 << 30) + 8 * world_size);
    CHECK_CALL(MPI_File_set_view(file, far, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL));
    CHECK_CALL(MPI_File_write_c(file, &data, one, MPI_DOUBLE, &status));
    CHECK_CALL(MPI_File_seek(file, -1, MPI_SEEK_CUR));
    CHECK_CALL(MPI_File_read_c(file, &got, one, MPI_DOUBLE, &status));
    CHECK_DOUBLE(got, data);
    CHECK_CALL(MPI_File_seek(file, 0, MPI_SEEK_SET));
    CHECK_CALL(MPI_File_write_all_c(file, &data, one, MPI_DOUBLE, &status));
    CHECK_CALL(MPI_File_iwrite_all_c(file, &data, (MPI_Count)0, MPI_DOUBLE, &request));
    CHECK_CALL(MPI_Wait(&request, &status));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_set_view(file, (MPI_Offset)6 << 30, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL));
    CHECK_CALL(MPI_File_write_ordered_c(file, &data, one, MPI_DOUBLE, &status));
    CHECK_CALL(MPI_File_write_shared_c(file, &data, one, MPI_DOUBLE, &status));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    CHECK_CALL(MPI_File_read_ordered_c(file, &got, one, MPI_DOUBLE, &status));
    CHECK_DOUBLE(got, data);
    CHECK_CALL(MPI_File_get_byte_offset(file, (MPI_Offset)1 << 31, &at));
    CHECK_INT(at, ((MPI_Offset)6 << 30) + ((MPI_Offset)8 << 31));
    CHECK_CLASS(MPI_File_write_at_c(file, 0, &data, (MPI_Count)-1, MPI_DOUBLE, &status), MPI_ERR_COUNT);
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
