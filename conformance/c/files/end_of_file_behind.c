/* ranks: 1 2 3 */
/* skip-mpich: ROMIO 5.0.2 counts what lies behind the end */
/* MPI 5.0 sections 14.3 and 14.4.2: a filetype's data may begin several of its extents behind its lower bound. The end of
 * the file cuts a collective read where this rank's data end, and MPI_SEEK_END is the first etype at it or behind it. */
#include "file_name.h"

enum { FAR = 5, INTS = 23, WANTED = 60 };

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Status status;
    MPI_Datatype view, shifted;
    MPI_Offset at;
    int got[WANTED];
    start(&argc, &argv);
    file = new_file("end-behind");
    MPI_Aint far = FAR * 4 * world_size;
    int one = 1;
    MPI_Type_create_hindexed(1, &one, &far, MPI_INT, &shifted);
    MPI_Type_create_resized(shifted, 0, 4 * world_size, &view);
    MPI_Type_commit(&view);
    if (world_rank == 0)
        for (int i = 0; i < FAR * world_size + INTS; i++) CHECK_CALL(MPI_File_write_at(file, 4 * i, &i, 1, MPI_INT, &status));
    sync_all(file);
    const char *hints[] = {"enable", "disable", "automatic"};
    for (int way = 0; way < 3; way++) {
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, "romio_cb_read", hints[way]);
        CHECK_CALL(MPI_File_set_view(file, 4 * world_rank, MPI_INT, view, "native", info));
        MPI_Info_free(&info);
        int mine = 0;
        for (int i = world_rank; i < INTS; i += world_size) mine++;
        memset(got, 0xff, sizeof got);
        CHECK_CALL(MPI_File_read_at_all(file, 0, got, WANTED, MPI_INT, &status));
        CHECK_INT(count_of(&status, MPI_INT), mine);
        for (int i = 0; i < mine; i++) CHECK_INT(got[i], (FAR + i) * world_size + world_rank);
        for (int i = mine; i < WANTED; i++) CHECK_INT(got[i], -1);
        CHECK_CALL(MPI_File_seek(file, 0, MPI_SEEK_END));
        CHECK_CALL(MPI_File_get_position(file, &at));
        CHECK_INT(at, mine);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Type_free(&view);
    MPI_Type_free(&shifted);
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
