/* ranks: 2 3 */
/* skip-mpich: ROMIO reports some of these as MPI_ERR_ARG, and does not compare others */
/* MPI 5.0 sections 14.2.4, 14.2.5, 14.4.4, 14.6.1 and 14.7: sizes, offsets of the shared pointer and atomicity are the
 * same on all processes; where they differ all fail with MPI_ERR_NOT_SAME, and the file stays as it was. */
#include "file_name.h"

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Offset at;
    int flag;
    start(&argc, &argv);
    file = new_file("size-not-same");
    CHECK_CALL(MPI_File_set_size(file, 64));
    CHECK_CLASS(MPI_File_set_size(file, 100 + world_rank), MPI_ERR_NOT_SAME);
    CHECK_CLASS(MPI_File_preallocate(file, 100 + world_rank), MPI_ERR_NOT_SAME);
    CHECK_CLASS(MPI_File_seek_shared(file, 1 + world_rank, MPI_SEEK_SET), MPI_ERR_NOT_SAME);
    CHECK_CLASS(MPI_File_seek_shared(file, 8, world_rank ? MPI_SEEK_SET : MPI_SEEK_CUR), MPI_ERR_NOT_SAME);
    CHECK_CLASS(MPI_File_set_atomicity(file, world_rank == 0), MPI_ERR_NOT_SAME);
    CHECK_CALL(MPI_File_get_size(file, &at));
    CHECK_INT(at, 64);
    CHECK_CALL(MPI_File_get_position_shared(file, &at));
    CHECK_INT(at, 0);
    CHECK_CALL(MPI_File_get_atomicity(file, &flag));
    CHECK_INT(flag, 0);
    /* A whence that one rank alone gets wrong. */
    CHECK(MPI_File_seek_shared(file, 0, world_rank ? MPI_SEEK_SET : 12345) != MPI_SUCCESS);
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
