/* ranks: 1 2 */
/* skip-mpich: ROMIO in MPICH 5.0.2 knows no registered representations */
/* MPI 5.0 §14.5: external32 is big endian; a registered representation converts by functions of the program, and its
 * extents decide where elements lie in the file. Here an int takes eight bytes in the file, each value doubled. */
#include "file_name.h"

enum { COUNT = 64 };

static int extent(MPI_Datatype type, MPI_Aint *bytes, void *state)
{
    int size;
    CHECK_INT(*(int *)state, 42);
    MPI_Type_size(type, &size);
    *bytes = 2 * size;
    return MPI_SUCCESS;
}

static int reads(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *state)
{
    (void)type;
    (void)state;
    for (int i = 0; i < count; i++) {
        long long wide;
        memcpy(&wide, (char *)file + 8 * (position + i), 8);
        ((int *)user)[position + i] = (int)(wide / 2);
    }
    return MPI_SUCCESS;
}

static int writes(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *state)
{
    (void)type;
    (void)state;
    for (int i = 0; i < count; i++) {
        long long wide = 2LL * ((int *)user)[position + i];
        memcpy((char *)file + 8 * (position + i), &wide, 8);
    }
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    char name[64], form[MPI_MAX_DATAREP_STRING];
    static int state = 42;
    MPI_File file;
    MPI_Status status;
    MPI_Aint bytes;
    MPI_Offset offset, disp;
    MPI_Datatype etype, filetype;
    int data[COUNT], got[COUNT], count;
    unsigned char big[4];
    long long wide;
    start(&argc, &argv);
    file_name(name, sizeof name, "representations");
    CHECK_CALL(MPI_Register_datarep("doubled", reads, writes, extent, &state));
    CHECK_CLASS(MPI_Register_datarep("doubled", reads, writes, extent, &state), MPI_ERR_DUP_DATAREP);
    CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    for (int i = 0; i < COUNT; i++) data[i] = 1000 * world_rank + 7 * i - 3;
    CHECK_CALL(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
    CHECK_CALL(MPI_File_write_at_all(file, world_rank * COUNT, data, COUNT, MPI_INT, &status));
    CHECK_CALL(MPI_File_read_at_all(file, world_rank * COUNT, got, COUNT, MPI_INT, &status));
    CHECK_BYTES(got, data, sizeof data);
    CHECK_CALL(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    CHECK_CALL(MPI_File_read_at(file, 4 * (world_rank * COUNT + 5), big, 4, MPI_BYTE, &status));
    CHECK_INT(big[0] << 24 | big[1] << 16 | big[2] << 8 | big[3], data[5]);
    CHECK_CALL(MPI_File_sync(file));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_set_view(file, 16, MPI_INT, MPI_INT, "doubled", MPI_INFO_NULL));
    CHECK_CALL(MPI_File_get_view(file, &disp, &etype, &filetype, form));
    CHECK_INT(disp, 16);
    CHECK(etype == MPI_INT && filetype == MPI_INT);
    CHECK_STRING(form, "doubled");
    CHECK_CALL(MPI_File_get_type_extent(file, MPI_INT, &bytes));
    CHECK_INT(bytes, 8);
    CHECK_CALL(MPI_File_get_byte_offset(file, 3, &offset));
    CHECK_INT(offset, 16 + 3 * 8);
    CHECK_CALL(MPI_File_write_at(file, world_rank * COUNT, data, COUNT, MPI_INT, &status));
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK_INT(count, COUNT);
    memset(got, 0, sizeof got);
    CHECK_CALL(MPI_File_read_at(file, world_rank * COUNT, got, COUNT, MPI_INT, &status));
    CHECK_BYTES(got, data, sizeof data);
    CHECK_CALL(MPI_File_set_view(file, 16, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    CHECK_CALL(MPI_File_read_at(file, 8 * (world_rank * COUNT + 9), &wide, 8, MPI_BYTE, &status));
    CHECK_INT(wide, 2 * data[9]);
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
