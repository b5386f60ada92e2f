/* ranks: 1 2 */
/* MPI 5.0 section 14.4: an access of nothing is one: it succeeds, its status counts 0, it moves no pointer and makes the
 * file no longer, even behind its end and with a null address; some ranks of a collective one may have nothing. */
#include "file_name.h"

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Status status;
    MPI_Request request;
    MPI_Offset at;
    int value = 9;
    start(&argc, &argv);
    file = new_file("zero");
#define NOTHING(call) do { \
        CHECK_CALL(call); \
        CHECK_INT(count_of(&status, MPI_INT), 0); \
    } while (0)
    NOTHING(MPI_File_write_at(file, 1 << 20, NULL, 0, MPI_INT, &status));
    NOTHING(MPI_File_read_at(file, 1 << 20, NULL, 0, MPI_INT, &status));
    NOTHING(MPI_File_write(file, NULL, 0, MPI_INT, &status));
    NOTHING(MPI_File_read_all(file, NULL, 0, MPI_INT, &status));
    NOTHING(MPI_File_write_all(file, NULL, 0, MPI_INT, &status));
    NOTHING(MPI_File_write_at_all(file, 77, NULL, 0, MPI_INT, &status));
    NOTHING(MPI_File_write_shared(file, NULL, 0, MPI_INT, &status));
    NOTHING(MPI_File_write_ordered(file, NULL, 0, MPI_INT, &status));
    CHECK_CALL(MPI_File_iwrite(file, NULL, 0, MPI_INT, &request));
    NOTHING(MPI_Wait(&request, &status));
    CHECK_CALL(MPI_File_iread_at_all(file, 50, NULL, 0, MPI_INT, &request));
    NOTHING(MPI_Wait(&request, &status));
    CHECK_CALL(MPI_File_write_all_begin(file, NULL, 0, MPI_INT));
    NOTHING(MPI_File_write_all_end(file, NULL, &status));
    CHECK_CALL(MPI_File_get_size(file, &at));
    CHECK_INT(at, 0);
    CHECK_CALL(MPI_File_get_position(file, &at));
    CHECK_INT(at, 0);
    CHECK_CALL(MPI_File_get_position_shared(file, &at));
    CHECK_INT(at, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_write_at_all(file, 0, &value, world_rank == world_size - 1, MPI_INT, &status));
    CHECK_INT(count_of(&status, MPI_INT), world_rank == world_size - 1);
    CHECK_CALL(MPI_File_write_ordered(file, &value, world_rank == 0, MPI_INT, &status));
    CHECK_CALL(MPI_File_get_size(file, &at));
    CHECK_INT(at, 4);
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
