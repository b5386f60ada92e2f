/* ranks: 1 2 */
/* expect: fatal no-such-file.dat */
/* MPI 5.0 section 14.7: with MPI_ERRORS_ARE_FATAL as the handler of MPI_FILE_NULL a failed MPI_File_open ends the job. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_File file;
    start(&argc, &argv);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
    MPI_File_open(MPI_COMM_WORLD, "no-such-file.dat", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    printf("not-reached\n");
    return finish();
}
