/* ranks: 1 2 */
/* skip-mpich: ROMIO 5.0.2 allows some collective calls between begin and end, and does not tell the kinds apart */
/* MPI 5.0 section 14.4.5: at most one split collective is active on a file, no other collective access goes on then, and
 * an end belongs to the begin of its own kind. Errors leave the active one as it is. */
#include "file_name.h"

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Status status;
    int data = 7 + world_rank, got = 0;
    start(&argc, &argv);
    file = new_file("split-errors");
    data = 7 + world_rank;
    CHECK(MPI_File_write_all_end(file, &data, &status) != MPI_SUCCESS);
    CHECK_CALL(MPI_File_write_at_all_begin(file, 4 * world_rank, &data, 1, MPI_INT));
    CHECK(MPI_File_write_at_all_begin(file, 0, &data, 1, MPI_INT) != MPI_SUCCESS);
    CHECK(MPI_File_read_all_begin(file, &got, 1, MPI_INT) != MPI_SUCCESS);
    CHECK(MPI_File_write_all_end(file, &data, &status) != MPI_SUCCESS);
    CHECK(MPI_File_read_at_all_end(file, &data, &status) != MPI_SUCCESS);
    CHECK(MPI_File_write_ordered_end(file, &data, &status) != MPI_SUCCESS);
    CHECK(MPI_File_write_at_all(file, 0, &data, 1, MPI_INT, &status) != MPI_SUCCESS);
    CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) != MPI_SUCCESS);
    CHECK(MPI_File_set_size(file, 4) != MPI_SUCCESS);
    CHECK(MPI_File_sync(file) != MPI_SUCCESS);
    CHECK(MPI_File_close(&file) != MPI_SUCCESS);
    CHECK(file != MPI_FILE_NULL);
    CHECK_CALL(MPI_File_write_at_all_end(file, &data, &status));
    CHECK_INT(count_of(&status, MPI_INT), 1);
    CHECK(MPI_File_write_at_all_end(file, &data, &status) != MPI_SUCCESS);
    CHECK_CALL(MPI_File_read_at_all(file, 4 * world_rank, &got, 1, MPI_INT, &status));
    CHECK_INT(got, data);
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
