/* ranks: 1 2 */
/* MPI 5.0 section 14.4.3: MPI_File_seek sets the individual pointer from the beginning, from where it is, or from the end,
 * behind the end, too; a position before the beginning is an error and moves nothing. Each process has its own pointer,
 * which all routines without offset move by the etypes they access, nonblocking ones when they begin. */
#include "file_name.h"

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Offset at;
    MPI_Status status;
    MPI_Request request;
    double data[8] = {1, 2, 3, 4, 5, 6, 7, 8}, got[8];
    start(&argc, &argv);
    file = new_file("seek");
    CHECK_CALL(MPI_File_set_view(file, 64 * world_rank, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL));
    CHECK_CALL(MPI_File_write(file, data, 3, MPI_DOUBLE, &status));
    CHECK_CALL(MPI_File_iwrite(file, data + 3, 2, MPI_DOUBLE, &request));
    CHECK_CALL(MPI_File_get_position(file, &at));
    CHECK_INT(at, 5);
    CHECK_CALL(MPI_Wait(&request, &status));
    CHECK_CALL(MPI_File_write_all(file, data + 5, 1, MPI_DOUBLE, &status));
    CHECK_CALL(MPI_File_write_all_begin(file, data + 6, 2, MPI_DOUBLE));
    CHECK_CALL(MPI_File_write_all_end(file, data + 6, &status));
    CHECK_INT(count_of(&status, MPI_DOUBLE), 2);
    CHECK_CALL(MPI_File_get_position(file, &at));
    CHECK_INT(at, 8);
    CHECK_CALL(MPI_File_seek(file, -3, MPI_SEEK_CUR));
    CHECK_CALL(MPI_File_get_position(file, &at));
    CHECK_INT(at, 5);
    CHECK_CALL(MPI_File_read(file, got, 2, MPI_DOUBLE, &status));
    CHECK_DOUBLE(got[0], 6);
    CHECK_DOUBLE(got[1], 7);
    /* Routines with an offset leave it alone. */
    CHECK_CALL(MPI_File_read_at(file, 1, got, 1, MPI_DOUBLE, &status));
    CHECK_CALL(MPI_File_read_at_all(file, 1, got, 1, MPI_DOUBLE, &status));
    CHECK_DOUBLE(got[0], 2);
    CHECK_CALL(MPI_File_get_position(file, &at));
    CHECK_INT(at, 7);
    CHECK(MPI_File_seek(file, -1, MPI_SEEK_SET) != MPI_SUCCESS);
    CHECK(MPI_File_seek(file, -8, MPI_SEEK_CUR) != MPI_SUCCESS);
    CHECK(MPI_File_seek(file, 0, 999) != MPI_SUCCESS);
    CHECK_CALL(MPI_File_get_position(file, &at));
    CHECK_INT(at, 7);
    CHECK_CALL(MPI_File_seek(file, 1000, MPI_SEEK_SET));
    CHECK_CALL(MPI_File_get_position(file, &at));
    CHECK_INT(at, 1000);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_seek(file, -1, MPI_SEEK_END));
    CHECK_CALL(MPI_File_get_position(file, &at));
    CHECK_INT(at, 8 * (world_size - world_rank) - 1);
    CHECK_CALL(MPI_File_seek(file, world_rank, MPI_SEEK_SET));
    CHECK_CALL(MPI_File_get_position(file, &at));
    CHECK_INT(at, world_rank);
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
