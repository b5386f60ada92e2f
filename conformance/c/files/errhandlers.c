/* ranks: 1 2 */
/* MPI 5.0 sections 9.3.3 and 14.7: the handler of MPI_FILE_NULL is the default of files that are opened later, and the one
 * for errors that no open file can have; a file's own handler is its own. MPI_File_call_errhandler calls it. */
#include "file_name.h"

static int calls, last_class, was_null;

static void note(MPI_File *file, int *code, ...)
{
    calls++;
    was_null = *file == MPI_FILE_NULL;
    MPI_Error_class(*code, &last_class);
}

int main(int argc, char **argv)
{
    MPI_File file = MPI_FILE_NULL, second;
    MPI_Errhandler handler, got;
    MPI_Status status;
    char name[64];
    int value = 0;
    start(&argc, &argv);
    file_name(name, sizeof name, "errhandlers");
    CHECK_CALL(MPI_File_get_errhandler(MPI_FILE_NULL, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    file = new_file("errhandlers-first");
    CHECK_CALL(MPI_File_create_errhandler(note, &handler));
    CHECK_CALL(MPI_File_set_errhandler(MPI_FILE_NULL, handler));
    CHECK_CALL(MPI_File_get_errhandler(MPI_FILE_NULL, &got));
    CHECK(got == handler);
    MPI_Errhandler_free(&got);
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &second);
    CHECK_INT(calls, 1);
    CHECK_INT(last_class, MPI_ERR_NO_SUCH_FILE);
    CHECK(was_null);
    MPI_File_delete(name, MPI_INFO_NULL);
    CHECK_INT(calls, 2);
    /* The first file keeps what it had; a new one gets the new default. */
    CHECK_CALL(MPI_File_get_errhandler(file, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    CHECK(MPI_File_write_at(file, -1, &value, 1, MPI_INT, &status) != MPI_SUCCESS);
    CHECK_INT(calls, 2);
    second = new_file("errhandlers-second");
    MPI_File_write_at(second, -1, &value, 1, MPI_INT, &status);
    CHECK_INT(calls, 3);
    CHECK(!was_null);
    CHECK_CALL(MPI_File_call_errhandler(second, MPI_ERR_IO));
    CHECK_INT(calls, 4);
    CHECK_INT(last_class, MPI_ERR_IO);
    CHECK_CALL(MPI_File_call_errhandler(file, MPI_ERR_IO));
    CHECK_INT(calls, 4);
    CHECK_CALL(MPI_File_set_errhandler(second, MPI_ERRORS_RETURN));
    CHECK(MPI_File_write_at(second, -1, &value, 1, MPI_INT, &status) != MPI_SUCCESS);
    CHECK_INT(calls, 4);
    CHECK_CALL(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
    CHECK_CALL(MPI_Errhandler_free(&handler));
    CHECK_CALL(MPI_File_close(&second));
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
