/* ranks: 2 3 */
/* skip-mpich: there the ranks wait for ever */
/* MPI 5.0 sections 14.4.1 and 14.7: collective accesses are called by all processes in the same order. Where one rank reads
 * while the others write, or makes an ordered access while they do not, OxMPI says so on every rank (MPI_ERR_NOT_SAME). */
#include "file_name.h"

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Status status;
    int data = 3, got = 0, code;
    start(&argc, &argv);
    file = new_file("different");
    if (world_rank == 0) code = MPI_File_read_at_all(file, 0, &got, 1, MPI_INT, &status);
    else code = MPI_File_write_at_all(file, 0, &data, 1, MPI_INT, &status);
    CHECK_CLASS(code, MPI_ERR_NOT_SAME);
    if (world_rank == 0) code = MPI_File_write_ordered(file, &data, 1, MPI_INT, &status);
    else code = MPI_File_write_all(file, &data, 1, MPI_INT, &status);
    CHECK_CLASS(code, MPI_ERR_NOT_SAME);
    CHECK_CALL(MPI_File_write_ordered(file, &data, 1, MPI_INT, &status));
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
