/* ranks: 2 4 */
/* skip-mpich: aggregated reads of ROMIO 5.0.2 count what lies behind the end */
/* MPI 5.0 sections 14.1.1 and 14.4.2: the end of the file cuts a collective read of interleaved elements where each rank's
 * own elements end, whichever process accesses the file for it. Memory behind that is left alone. */
#include "file_name.h"

enum { EACH = 40 };

static void look(MPI_File file, int ints, const char *hint, int more)
{
    MPI_Datatype raw, every;
    MPI_Status status;
    MPI_Info info;
    int got[EACH], mine = 0;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_read", hint);
    MPI_Type_contiguous(1, MPI_INT, &raw);
    MPI_Type_create_resized(raw, 0, 4 * world_size, &every);
    MPI_Type_commit(&every);
    view_bytes(file);
    CHECK_CALL(MPI_File_set_size(file, 0));
    if (world_rank == 0)
        for (int i = 0; i < ints; i++) CHECK_CALL(MPI_File_write_at(file, 4 * i, &i, 1, MPI_INT, &status));
    sync_all(file);
    CHECK_CALL(MPI_File_set_size(file, 4 * ints + more));
    CHECK_CALL(MPI_File_set_view(file, 4 * world_rank, MPI_INT, every, "native", info));
    memset(got, 0xff, sizeof got);
    CHECK_CALL(MPI_File_read_all(file, got, EACH, MPI_INT, &status));
    for (int i = world_rank; i < ints; i += world_size) mine++;
    if (more == 0 || ints % world_size != world_rank) CHECK_INT(count_of(&status, MPI_INT), mine);
    for (int i = 0; i < mine; i++) CHECK_INT(got[i], i * world_size + world_rank);
    for (int i = mine + 1; i < EACH; i++) CHECK_INT(got[i], -1);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&every);
    MPI_Type_free(&raw);
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    MPI_File file;
    start(&argc, &argv);
    file = new_file("end-views");
    const char *hints[] = {"enable", "disable", "automatic"};
    for (int way = 0; way < 3; way++) {
        look(file, 0, hints[way], 0);
        look(file, 1, hints[way], 0);
        look(file, 17, hints[way], 0);
        look(file, 17, hints[way], 2);
        look(file, EACH * world_size, hints[way], 0);
    }
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
