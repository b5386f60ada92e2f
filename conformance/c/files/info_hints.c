/* ranks: 1 2 */
/* MPI 5.0 section 14.2.8: hints are given at opening, with MPI_File_set_info and with a view; unknown ones are ignored;
 * MPI_File_get_info returns a new info object with what is in force, which does not change with the one that was given. */
#include "file_name.h"

static int get(MPI_Info info, const char *key, char *value)
{
    int flag = 0, length = MPI_MAX_INFO_VAL;
    MPI_Info_get_string(info, key, &length, value, &flag);
    return flag;
}

int main(int argc, char **argv)
{
    char name[64], value[MPI_MAX_INFO_VAL];
    MPI_File file;
    MPI_Info info, used;
    int keys;
    start(&argc, &argv);
    file_name(name, sizeof name, "hints");
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "1048576");
    MPI_Info_set(info, "romio_cb_write", "enable");
    MPI_Info_set(info, "no_such_hint_of_anybody", "1");
    CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, &file));
    MPI_Info_set(info, "cb_buffer_size", "2097152");
    CHECK_CALL(MPI_File_get_info(file, &used));
    MPI_Info_get_nkeys(used, &keys);
    CHECK(keys > 2);
    CHECK(get(used, "cb_buffer_size", value));
    CHECK_STRING(value, "1048576");
    CHECK(get(used, "romio_cb_write", value));
    CHECK_STRING(value, "enable");
    CHECK(get(used, "cb_nodes", value));
    CHECK(atoi(value) >= 1 && atoi(value) <= world_size);
    CHECK(!get(used, "no_such_hint_of_anybody", value));
    /* Section 12.4.3: the kinds of memory that the library supports on the object. */
    CHECK(get(used, "mpi_memory_alloc_kinds", value));
    CHECK(strstr(value, "mpi") != NULL && strstr(value, "system") != NULL);
    /* It is the program's own. */
    MPI_Info_set(used, "cb_buffer_size", "4096");
    CHECK_CALL(MPI_Info_free(&used));
    CHECK_CALL(MPI_File_set_info(file, info));
    MPI_Info_free(&info);
    MPI_Info_create(&info);
    MPI_Info_set(info, "ind_rd_buffer_size", "65536");
    MPI_Info_set(info, "romio_ds_write", "disable");
    CHECK_CALL(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", info));
    MPI_Info_free(&info);
    CHECK_CALL(MPI_File_get_info(file, &used));
    CHECK(get(used, "ind_rd_buffer_size", value));
    CHECK_STRING(value, "65536");
    CHECK(get(used, "romio_ds_write", value));
    CHECK_STRING(value, "disable");
    CHECK(get(used, "romio_cb_write", value));
    CHECK_STRING(value, "enable");
    MPI_Info_free(&used);
    CHECK_CALL(MPI_File_set_info(file, MPI_INFO_NULL));
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
