/* ranks: 1 2 */
/* MPI 5.0 sections 14.2.1 and 14.7: a failed MPI_File_open gives the class of what is wrong, on every process, and the
 * handler is the one of MPI_FILE_NULL, which returns. Exactly one of the three ways of access must be named; creating
 * needs writing; sequential access goes one way. */
#include "file_name.h"

static char name[64];

static int opened(int amode)
{
    MPI_File file = MPI_FILE_NULL;
    int code = MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &file);
    if (code == MPI_SUCCESS) MPI_File_close(&file);
    return code;
}

int main(int argc, char **argv)
{
    MPI_File file = MPI_FILE_NULL;
    char below[80], length[6000];
    start(&argc, &argv);
    file_name(name, sizeof name, "open-errors");
    CHECK_CLASS(opened(MPI_MODE_RDONLY), MPI_ERR_NO_SUCH_FILE);
    CHECK_CLASS(opened(MPI_MODE_RDWR), MPI_ERR_NO_SUCH_FILE);
    CHECK_CLASS(opened(0), MPI_ERR_AMODE);
    CHECK_CLASS(opened(MPI_MODE_CREATE), MPI_ERR_AMODE);
    CHECK_CLASS(opened(MPI_MODE_RDONLY | MPI_MODE_RDWR), MPI_ERR_AMODE);
    CHECK_CLASS(opened(MPI_MODE_WRONLY | MPI_MODE_RDWR), MPI_ERR_AMODE);
    CHECK_CLASS(opened(MPI_MODE_RDONLY | MPI_MODE_CREATE), MPI_ERR_AMODE);
    CHECK_CLASS(opened(MPI_MODE_RDONLY | MPI_MODE_EXCL), MPI_ERR_AMODE);
    CHECK_CLASS(opened(MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL | MPI_MODE_CREATE), MPI_ERR_AMODE);
    CHECK_CALL(opened(MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CLASS(opened(MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR), MPI_ERR_FILE_EXISTS);
    /* A name that goes through something that is no folder, and one that is too long. */
    snprintf(below, sizeof below, "%s/inside", name);
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, below, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), MPI_ERR_BAD_FILE);
    memset(length, 'x', sizeof length - 1);
    length[sizeof length - 1] = 0;
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, length, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), MPI_ERR_BAD_FILE);
    /* A folder can be neither read nor written. */
    CHECK(MPI_File_open(MPI_COMM_WORLD, ".", MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(opened(MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CLASS(opened(MPI_MODE_RDONLY), MPI_ERR_NO_SUCH_FILE);
    return finish();
}
