/* ranks: 1 */
/* MPI 5.0 section 9.4: every predefined class is a valid code of itself, MPI_SUCCESS is 0 and least, all are at most
 * MPI_ERR_LASTCODE, and each has a non-empty string shorter than MPI_MAX_ERROR_STRING. */
#include "check.h"

int main(int argc, char **argv)
{
    static const int classes[] = {
        MPI_ERR_BUFFER, MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_TAG, MPI_ERR_COMM, MPI_ERR_RANK, MPI_ERR_REQUEST,
        MPI_ERR_ROOT, MPI_ERR_GROUP, MPI_ERR_OP, MPI_ERR_TOPOLOGY, MPI_ERR_DIMS, MPI_ERR_ARG, MPI_ERR_UNKNOWN,
        MPI_ERR_TRUNCATE, MPI_ERR_OTHER, MPI_ERR_INTERN, MPI_ERR_PENDING, MPI_ERR_IN_STATUS, MPI_ERR_INFO,
        MPI_ERR_INFO_KEY, MPI_ERR_INFO_VALUE, MPI_ERR_INFO_NOKEY, MPI_ERR_KEYVAL, MPI_ERR_NAME, MPI_ERR_NO_MEM,
        MPI_ERR_UNSUPPORTED_OPERATION, MPI_ERR_WIN, MPI_ERR_FILE, MPI_ERR_SESSION, MPI_ERR_PROC_ABORTED,
        MPI_ERR_VALUE_TOO_LARGE, MPI_ERR_ERRHANDLER, MPI_ERR_ABI};
    char text[MPI_MAX_ERROR_STRING];
    start(&argc, &argv);
    CHECK_INT(MPI_SUCCESS, 0);
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        int class = -1, length = -1;
        CHECK(classes[i] > 0 && classes[i] <= MPI_ERR_LASTCODE);
        CHECK_CALL(MPI_Error_class(classes[i], &class));
        CHECK_INT(class, classes[i]);
        CHECK_CALL(MPI_Error_string(classes[i], text, &length));
        CHECK(length > 0 && length < MPI_MAX_ERROR_STRING);
        CHECK_INT(strlen(text), length);
    }
    return finish();
}
