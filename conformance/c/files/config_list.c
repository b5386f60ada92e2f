/* ranks: 1 2 4 */
/* MPI 5.0 section 14.2.8: hints may steer accesses and change no result. ROMIO's cb_config_list, given at opening,
 * names hosts with how many of their ranks may access the file for the others. With cb_nodes the lesser number
 * counts, which MPI_File_get_info tells; the data are the same whoever writes them. */
#include "file_name.h"

enum { PIECE = 512, PIECES = 300 };

static void get(MPI_File file, const char *key, char *value)
{
    MPI_Info used;
    int flag = 0, length = MPI_MAX_INFO_VAL;
    CHECK_CALL(MPI_File_get_info(file, &used));
    value[0] = '\0';
    MPI_Info_get_string(used, key, &length, value, &flag);
    MPI_Info_free(&used);
}

/* All ranks write pieces in turn by chosen ranks, and each reads what its neighbour wrote. */
static void try_list(const char *list, const char *nodes, int wanted)
{
    static char data[PIECE * PIECES];
    char name[64], value[MPI_MAX_INFO_VAL];
    MPI_Info info;
    MPI_File file;
    MPI_Datatype piece, view;
    file_name(name, sizeof name, "config_list");
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_config_list", list);
    if (nodes != NULL)
        MPI_Info_set(info, "cb_nodes", nodes);
    MPI_Info_set(info, "romio_cb_write", "enable");
    MPI_Info_set(info, "romio_cb_read", "enable");
    CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, &file));
    MPI_Info_free(&info);
    get(file, "cb_config_list", value);
    CHECK_STRING(value, list);
    get(file, "cb_nodes", value);
    CHECK(atoi(value) == wanted);
    MPI_Type_contiguous(PIECE, MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, (MPI_Aint)PIECE * world_size, &view);
    MPI_Type_commit(&view);
    CHECK_CALL(MPI_File_set_view(file, (MPI_Offset)world_rank * PIECE, MPI_BYTE, view, "native", MPI_INFO_NULL));
    memset(data, world_rank + 1, sizeof data);
    CHECK_CALL(MPI_File_write_at_all(file, 0, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE));
    int next = (world_rank + 1) % world_size;
    CHECK_CALL(MPI_File_set_view(file, (MPI_Offset)next * PIECE, MPI_BYTE, view, "native", MPI_INFO_NULL));
    memset(data, 0, sizeof data);
    CHECK_CALL(MPI_File_read_at_all(file, 0, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE));
    for (int at = 0; at < PIECE * PIECES; at++)
        if (data[at] != next + 1) {
            CHECK(data[at] == next + 1);
            break;
        }
    MPI_Type_free(&view);
    MPI_Type_free(&piece);
    CHECK_CALL(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    char host[MPI_MAX_PROCESSOR_NAME], list[MPI_MAX_PROCESSOR_NAME + 16], first[MPI_MAX_PROCESSOR_NAME] = "";
    int length, is_one_host = 1;
    start(&argc, &argv);
    MPI_Get_processor_name(host, &length);
    for (int rank = 0; rank < world_size; rank++) {
        char other[MPI_MAX_PROCESSOR_NAME];
        memcpy(other, host, sizeof other);
        MPI_Bcast(other, sizeof other, MPI_CHAR, rank, MPI_COMM_WORLD);
        is_one_host = is_one_host && strcmp(other, host) == 0;
        if (rank == 0)
            memcpy(first, other, sizeof first);
    }
    MPI_Allreduce(MPI_IN_PLACE, &is_one_host, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (is_one_host) {
        try_list("*:1", NULL, 1);
        try_list("*:*", NULL, world_size);
        snprintf(list, sizeof list, "nowhere:3,%s:2,*:0", host);
        try_list(list, NULL, world_size < 2 ? 1 : 2);
        try_list("*:*", "1", 1);
    } else {
        /* One rank of the first rank's host, and none of the others. */
        snprintf(list, sizeof list, "%s,*:0", first);
        try_list(list, NULL, 1);
    }
    return finish();
}
