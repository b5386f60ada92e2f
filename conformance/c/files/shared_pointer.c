/* ranks: 1 2 4 */
/* MPI 5.0 §14.4.4: accesses at the shared pointer do not overlap, whatever their order; ordered ones follow the ranks.
 * MPI_File_seek_shared moves the pointer for all, and a new view sets it to 0. */
#include "file_name.h"

enum { TURNS = 40 };

int main(int argc, char **argv)
{
    char name[64];
    MPI_File file;
    MPI_Status status;
    MPI_Request request;
    MPI_Offset offset;
    int value, got[4 * TURNS], seen[4] = {0}, count, *mine;
    start(&argc, &argv);
    file_name(name, sizeof name, "shared");
    CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    CHECK_CALL(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    value = 10 + world_rank;
    for (int turn = 0; turn < TURNS; turn++) {
        if (turn % 2) {
            CHECK_CALL(MPI_File_iwrite_shared(file, &value, 1, MPI_INT, &request));
            CHECK_CALL(MPI_Wait(&request, &status));
        } else
            CHECK_CALL(MPI_File_write_shared(file, &value, 1, MPI_INT, &status));
    }
    CHECK_CALL(MPI_File_sync(file));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_get_position_shared(file, &offset));
    CHECK_INT(offset, world_size * TURNS);
    CHECK_CALL(MPI_File_read_at(file, 0, got, world_size * TURNS, MPI_INT, &status));
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK_INT(count, world_size * TURNS);
    for (int i = 0; i < count; i++)
        if (got[i] >= 10 && got[i] < 10 + world_size) seen[got[i] - 10]++;
    for (int rank = 0; rank < world_size; rank++) CHECK_INT(seen[rank], TURNS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_seek_shared(file, 5, MPI_SEEK_SET));
    /* Rank r writes r + 1 values. */
    mine = malloc((world_rank + 1) * sizeof(int));
    for (int i = 0; i <= world_rank; i++) mine[i] = 100 * world_rank + i;
    CHECK_CALL(MPI_File_write_ordered(file, mine, world_rank + 1, MPI_INT, &status));
    CHECK_CALL(MPI_File_sync(file));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_get_position_shared(file, &offset));
    CHECK_INT(offset, 5 + world_size * (world_size + 1) / 2);
    int at = 5;
    for (int rank = 0; rank < world_size; rank++)
        for (int i = 0; i <= rank; i++) {
            CHECK_CALL(MPI_File_read_at(file, at++, &value, 1, MPI_INT, &status));
            CHECK_INT(value, 100 * rank + i);
        }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_seek_shared(file, 5, MPI_SEEK_SET));
    memset(mine, 0, (world_rank + 1) * sizeof(int));
    CHECK_CALL(MPI_File_read_ordered_begin(file, mine, world_rank + 1, MPI_INT));
    CHECK_CALL(MPI_File_read_ordered_end(file, mine, &status));
    for (int i = 0; i <= world_rank; i++) CHECK_INT(mine[i], 100 * world_rank + i);
    CHECK_CALL(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    CHECK_CALL(MPI_File_get_position_shared(file, &offset));
    CHECK_INT(offset, 0);
    free(mine);
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
