/* ranks: 1 2 */
/* MPI 5.0 §14.7: the default handler of files is MPI_ERRORS_RETURN, and what fails has the class that the standard names
 * for it. A file's handler can be changed, and that of MPI_FILE_NULL is what a new file gets. */
#include "file_name.h"

static int calls, last_class;

static void note(MPI_File *file, int *code, ...)
{
    (void)file;
    calls++;
    MPI_Error_class(*code, &last_class);
}

int main(int argc, char **argv)
{
    char name[64];
    MPI_File file = MPI_FILE_NULL;
    MPI_Errhandler handler, got;
    MPI_Status status;
    MPI_Datatype backwards;
    MPI_Offset offset;
    int value = 1, lengths[] = {1, 1}, places[] = {4, 0};
    start(&argc, &argv);
    file_name(name, sizeof name, "errors");
    MPI_File_get_errhandler(MPI_FILE_NULL, &got);
    CHECK(got == MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file), MPI_ERR_NO_SUCH_FILE);
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY | MPI_MODE_WRONLY, MPI_INFO_NULL, &file), MPI_ERR_AMODE);
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY | MPI_MODE_CREATE, MPI_INFO_NULL, &file), MPI_ERR_AMODE);
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &file), MPI_ERR_AMODE);
    CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    CHECK_CLASS(MPI_File_read_at(file, 0, &value, 1, MPI_INT, &status), MPI_ERR_ACCESS);
    CHECK_CALL(MPI_File_write_at(file, 0, &value, 1, MPI_INT, &status));
    CHECK_CLASS(MPI_File_write_at(file, -1, &value, 1, MPI_INT, &status), MPI_ERR_ARG);
    CHECK_CLASS(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "no such form", MPI_INFO_NULL), MPI_ERR_UNSUPPORTED_DATAREP);
    MPI_Type_indexed(2, lengths, places, MPI_INT, &backwards);
    MPI_Type_commit(&backwards);
    CHECK_CALL(MPI_File_close(&file));
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY, MPI_INFO_NULL, &file), MPI_ERR_FILE_EXISTS);
    CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    CHECK_CLASS(MPI_File_write_at(file, 0, &value, 1, MPI_INT, &status), MPI_ERR_READ_ONLY);
    CHECK_CLASS(MPI_File_seek(file, 0, 12345), MPI_ERR_ARG);
    MPI_File_create_errhandler(note, &handler);
    CHECK_CALL(MPI_File_set_errhandler(file, handler));
    MPI_File_write_at(file, 0, &value, 1, MPI_INT, &status); /* What it returns after a handler of the program, libraries differ in. */
    CHECK_INT(calls, 1);
    CHECK_INT(last_class, MPI_ERR_READ_ONLY);
    MPI_Errhandler_free(&handler);
    CHECK_CALL(MPI_File_close(&file));
    MPI_Barrier(MPI_COMM_WORLD);
    /* The shared pointer is the only one of a sequential file. */
    CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    CHECK_CLASS(MPI_File_read_at(file, 0, &value, 1, MPI_INT, &status), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK_CLASS(MPI_File_get_position(file, &offset), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK_CALL(MPI_File_close(&file));
    CHECK_CLASS(MPI_File_delete(name, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
    MPI_Type_free(&backwards);
    return finish();
}
