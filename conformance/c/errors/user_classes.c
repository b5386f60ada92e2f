/* ranks: 1 */
/* MPI 5.0 section 9.5: new classes and codes get numbers above MPI_ERR_LASTCODE; a code belongs to its class; strings
 * are set by the user and empty before that. A handler is called with such a code by MPI_Comm_call_errhandler, which
 * itself returns MPI_SUCCESS. */
#include "check.h"

static int seen = -1;

static void on_error(MPI_Comm *comm, int *code, ...)
{
    CHECK(*comm == MPI_COMM_SELF);
    seen = *code;
}

int main(int argc, char **argv)
{
    int class, code, second, found = -1, length = -1;
    char text[MPI_MAX_ERROR_STRING] = "?";
    MPI_Errhandler handler;
    start(&argc, &argv);
    CHECK_CALL(MPI_Add_error_class(&class));
    CHECK(class > MPI_ERR_LASTCODE);
    CHECK_CALL(MPI_Add_error_code(class, &code));
    CHECK_CALL(MPI_Add_error_code(MPI_ERR_ARG, &second));
    CHECK(code > MPI_ERR_LASTCODE && second > MPI_ERR_LASTCODE && code != second && code != class);
    MPI_Error_class(code, &found);
    CHECK_INT(found, class);
    MPI_Error_class(class, &found);
    CHECK_INT(found, class);
    MPI_Error_class(second, &found);
    CHECK_INT(found, MPI_ERR_ARG);
    MPI_Error_string(code, text, &length);
    CHECK_INT(length, 0);
    CHECK_STRING(text, "");
    MPI_Add_error_string(class, "a new class");
    MPI_Add_error_string(code, "the moon is in the wrong phase");
    MPI_Error_string(code, text, &length);
    CHECK_STRING(text, "the moon is in the wrong phase");
    CHECK_INT(length, strlen(text));
    MPI_Error_string(class, text, &length);
    CHECK_STRING(text, "a new class");
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    CHECK_INT(MPI_Comm_call_errhandler(MPI_COMM_SELF, code), MPI_SUCCESS);
    CHECK_INT(seen, code);
    MPI_Errhandler_free(&handler);
    return finish();
}
