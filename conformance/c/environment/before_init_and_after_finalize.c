/* ranks: 1 2 */
/* MPI 5.0 chapter 11, "MPI Functionality that is Always Available": version, info and error functions may be called
 * before initialisation and after finalisation. This header is of MPI 5.0, so the library must report 5.0 as well. */
#include "check.h"

static void always_available(void)
{
    int version = 0, subversion = -1, length = 0, class = -1, keys = -1, flag = 0, size = 8;
    static char text[MPI_MAX_LIBRARY_VERSION_STRING], value[8], key[MPI_MAX_INFO_KEY + 1];
    CHECK_INT(MPI_Get_version(&version, &subversion), MPI_SUCCESS);
    CHECK_INT(version, MPI_VERSION);
    CHECK_INT(subversion, MPI_SUBVERSION);
    CHECK_INT(MPI_Get_library_version(text, &length), MPI_SUCCESS);
    CHECK(length > 0 && length < MPI_MAX_LIBRARY_VERSION_STRING);
    CHECK_INT(strlen(text), length);
    CHECK_INT(MPI_Error_class(MPI_ERR_TAG, &class), MPI_SUCCESS);
    CHECK_INT(class, MPI_ERR_TAG);
    CHECK_INT(MPI_Error_string(MPI_ERR_TAG, text, &length), MPI_SUCCESS);
    CHECK_INT(strlen(text), length);
    CHECK(length > 0);

    MPI_Info info, copy;
    CHECK_INT(MPI_Info_create(&info), MPI_SUCCESS);
    CHECK(info != MPI_INFO_NULL);
    MPI_Info_set(info, "colour", "blue");
    MPI_Info_dup(info, &copy);
    MPI_Info_delete(info, "colour");
    MPI_Info_get_nkeys(info, &keys);
    CHECK_INT(keys, 0);
    MPI_Info_get_nkeys(copy, &keys);
    CHECK_INT(keys, 1);
    MPI_Info_get_nthkey(copy, 0, key);
    CHECK_STRING(key, "colour");
    MPI_Info_get_string(copy, "colour", &size, value, &flag);
    CHECK_INT(flag, 1);
    CHECK_INT(size, 5);
    CHECK_STRING(value, "blue");
    MPI_Info_free(&info);
    MPI_Info_free(&copy);
    CHECK(info == MPI_INFO_NULL);
}

int main(int argc, char **argv)
{
    always_available();
    start(&argc, &argv);
    always_available();
    MPI_Finalize();
    always_available();
    return verdict();
}
