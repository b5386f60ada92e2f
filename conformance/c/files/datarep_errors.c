/* ranks: 1 2 */
/* skip-mpich: ROMIO 5.0.2 knows no registered representations */
/* MPI 5.0 section 14.5.3: a name is registered once (MPI_ERR_DUP_DATAREP), the standard's own names are taken; a function
 * that fails, with whatever code, fails the call (MPI_ERR_CONVERSION), on every rank of a collective one;
 * MPI_CONVERSION_FN_NULL stands for no conversion. */
#include "file_name.h"

static int fails;

static int extent(MPI_Datatype type, MPI_Aint *bytes, void *state)
{
    MPI_Aint lower;
    (void)state;
    return MPI_Type_get_extent(type, &lower, bytes);
}

static int swaps(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *state)
{
    (void)type;
    if (fails) return MPI_ERR_OTHER;
    char *from = *(int *)state ? user : file, *to = *(int *)state ? file : user;
    for (int i = 0; i < count; i++)
        for (int byte = 0; byte < 4; byte++) to[4 * (position + i) + byte] = from[4 * (position + i) + 3 - byte];
    return MPI_SUCCESS;
}

static int swaps_back(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *state)
{
    int reads = 0;
    (void)state;
    return swaps(user, type, count, file, position, &reads);
}

/* Twice as long in the file as in memory. */
static int wide(MPI_Datatype type, MPI_Aint *bytes, void *state)
{
    int code = extent(type, bytes, state);
    *bytes *= 2;
    return code;
}

/* Without a function for a direction data are accessed as in memory, so elements must be as long in the file; a
 * representation without any function is native. */
static void without_functions(MPI_File file)
{
    int data[2] = {17, 18}, got[2] = {0, 0};
    MPI_Status status;
    CHECK_CALL(MPI_Register_datarep("wide", swaps_back, MPI_CONVERSION_FN_NULL, wide, NULL));
    CHECK_CALL(MPI_Register_datarep("wide and plain", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, wide, NULL));
    CHECK_CALL(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "wide", MPI_INFO_NULL));
    CHECK_CLASS(MPI_File_write_at(file, 2 * world_rank, data, 2, MPI_INT, &status), MPI_ERR_CONVERSION);
    CHECK_CLASS(MPI_File_write_at_all(file, 2 * world_rank, data, 2, MPI_INT, &status), MPI_ERR_CONVERSION);
    CHECK_CALL(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "wide and plain", MPI_INFO_NULL));
    CHECK_CALL(MPI_File_write_at_all(file, 2 * world_rank, data, 2, MPI_INT, &status));
    CHECK_INT(count_of(&status, MPI_INT), 2);
    CHECK_CALL(MPI_File_read_at(file, 2 * world_rank, got, 2, MPI_INT, &status));
    CHECK_BYTES(got, data, sizeof data);
}

int main(int argc, char **argv)
{
    static int writes = 1;
    MPI_File file;
    MPI_Status status;
    int data = 0x01020304, got = 0;
    start(&argc, &argv);
    errors_return();
    CHECK_CALL(MPI_Register_datarep("swapped", swaps_back, swaps, extent, &writes));
    CHECK_CLASS(MPI_Register_datarep("swapped", swaps_back, swaps, extent, &writes), MPI_ERR_DUP_DATAREP);
    CHECK_CLASS(MPI_Register_datarep("native", swaps_back, swaps, extent, &writes), MPI_ERR_DUP_DATAREP);
    CHECK_CLASS(MPI_Register_datarep("external32", swaps_back, swaps, extent, &writes), MPI_ERR_DUP_DATAREP);
    CHECK_CALL(MPI_Register_datarep("plain", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent, NULL));
    file = new_file("datareps");
    CHECK_CALL(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "swapped", MPI_INFO_NULL));
    CHECK_CALL(MPI_File_write_at_all(file, world_rank, &data, 1, MPI_INT, &status));
    CHECK_CALL(MPI_File_read_at_all(file, world_rank, &got, 1, MPI_INT, &status));
    CHECK_INT(got, data);
    sync_all(file);
    CHECK_CALL(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "plain", MPI_INFO_NULL));
    CHECK_CALL(MPI_File_read_at(file, world_rank, &got, 1, MPI_INT, &status));
    CHECK_INT(got, 0x04030201);
    CHECK_CALL(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "swapped", MPI_INFO_NULL));
    fails = world_rank == world_size - 1;
    CHECK_CLASS(MPI_File_write_at_all(file, world_rank, &data, 1, MPI_INT, &status), MPI_ERR_CONVERSION);
    CHECK_CLASS(MPI_File_write_ordered(file, &data, 1, MPI_INT, &status), MPI_ERR_CONVERSION);
    int code = MPI_File_write_at(file, world_rank, &data, 1, MPI_INT, &status);
    CHECK_CLASS(code, fails ? MPI_ERR_CONVERSION : MPI_SUCCESS);
    fails = 0;
    CHECK_CALL(MPI_File_write_at_all(file, world_rank, &data, 1, MPI_INT, &status));
    without_functions(file);
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
