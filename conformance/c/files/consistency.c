/* ranks: 2 3 */
/* MPI 5.0 section 14.6.1: in nonatomic mode, sync, barrier, sync make a write of one process visible to the others, and
 * closing does, too, also through another file handle. A process always sees its own writes. */
#include "file_name.h"

int main(int argc, char **argv)
{
    char name[64];
    MPI_File file, other;
    MPI_Status status;
    int value, got;
    start(&argc, &argv);
    file_name(name, sizeof name, "consistency");
    CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    for (int turn = 0; turn < 10; turn++) {
        int writer = turn % world_size;
        value = 100 * turn + 1;
        if (world_rank == writer) {
            CHECK_CALL(MPI_File_write_at(file, 4 * turn, &value, 1, MPI_INT, &status));
            CHECK_CALL(MPI_File_read_at(file, 4 * turn, &got, 1, MPI_INT, &status));
            CHECK_INT(got, value);
        }
        sync_all(file);
        got = 0;
        CHECK_CALL(MPI_File_read_at(file, 4 * turn, &got, 1, MPI_INT, &status));
        CHECK_INT(got, value);
    }
    CHECK_CALL(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR, MPI_INFO_NULL, &other));
    value = 7000 + world_rank;
    CHECK_CALL(MPI_File_write_at(other, 400 + 4 * world_rank, &value, 1, MPI_INT, &status));
    CHECK_CALL(MPI_File_close(&other));
    sync_all(file);
    for (int rank = 0; rank < world_size; rank++) {
        CHECK_CALL(MPI_File_read_at(file, 400 + 4 * rank, &got, 1, MPI_INT, &status));
        CHECK_INT(got, 7000 + rank);
    }
    CHECK_CALL(MPI_File_close(&file));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    CHECK_CALL(MPI_File_read_at_all(file, 4 * 9, &got, 1, MPI_INT, &status));
    CHECK_INT(got, 901);
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
