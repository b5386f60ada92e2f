/* ranks: 1 2 */
/* skip-mpich: ROMIO 5.0.2 writes some types in native form */
/* MPI 5.0 sections 14.5.1 and 14.5.2: in external32 numbers are big endian, with lengths that every machine has: a long
 * takes 8 bytes in memory here and 4 or 8 there, which MPI_File_get_type_extent tells; views and offsets count the
 * lengths of the file. A read that comes to the end delivers the whole elements that are there. */
#include "file_name.h"

enum { EACH = 6 };

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Status status;
    MPI_Datatype raw, every, all;
    MPI_Aint extent;
    MPI_Offset at;
    short data[EACH], got[EACH];
    double reals[EACH], back[EACH];
    long longs[EACH], longs_back[EACH];
    unsigned char bytes[8];
    int elements;
    start(&argc, &argv);
    file = new_file("external32");
    for (int i = 0; i < EACH; i++) {
        data[i] = (short)(-300 + 7 * i + world_rank);
        reals[i] = -1.25 * i + world_rank;
        longs[i] = -5 - i;
    }
    /* Every size-th short. */
    MPI_Type_contiguous(1, MPI_SHORT, &raw);
    MPI_Type_create_resized(raw, 0, 2 * world_size, &every);
    MPI_Type_commit(&every);
    CHECK_CALL(MPI_File_set_view(file, 2 * world_rank, MPI_SHORT, every, "external32", MPI_INFO_NULL));
    CHECK_CALL(MPI_File_write_all(file, data, EACH, MPI_SHORT, &status));
    CHECK_INT(count_of(&status, MPI_SHORT), EACH);
    sync_all(file);
    CHECK_CALL(MPI_File_read_at_all(file, 0, got, EACH, MPI_SHORT, &status));
    CHECK_BYTES(got, data, sizeof data);
    view_bytes(file);
    CHECK_CALL(MPI_File_read_at(file, 2 * world_rank, bytes, 2, MPI_BYTE, &status));
    CHECK_INT((short)(bytes[0] << 8 | bytes[1]), data[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_set_size(file, 0));
    CHECK_CALL(MPI_File_set_view(file, 0, MPI_DOUBLE, MPI_DOUBLE, "external32", MPI_INFO_NULL));
    CHECK_CALL(MPI_File_get_type_extent(file, MPI_DOUBLE, &extent));
    CHECK_INT(extent, 8);
    CHECK_CALL(MPI_File_write_at_all(file, EACH * world_rank, reals, EACH, MPI_DOUBLE, &status));
    sync_all(file);
    /* One derived element, of which only a part is there. */
    MPI_Type_contiguous(EACH, MPI_DOUBLE, &all);
    MPI_Type_commit(&all);
    for (int i = 0; i < EACH; i++) back[i] = 99;
    CHECK_CALL(MPI_File_read_at(file, EACH * world_size - 2, back, 1, all, &status));
    MPI_Get_elements(&status, all, &elements);
    CHECK_INT(elements, 2);
    CHECK_DOUBLE(back[0], -1.25 * (EACH - 2) + world_size - 1);
    CHECK_DOUBLE(back[1], -1.25 * (EACH - 1) + world_size - 1);
    CHECK_DOUBLE(back[2], 99);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_set_view(file, 0, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL));
    CHECK_CALL(MPI_File_get_type_extent(file, MPI_LONG, &extent));
    CHECK_CALL(MPI_File_write_at_all(file, EACH * world_rank, longs, EACH, MPI_LONG, &status));
    CHECK_INT(count_of(&status, MPI_LONG), EACH);
    CHECK_CALL(MPI_File_get_byte_offset(file, 3, &at));
    CHECK_INT(at, 3 * extent);
    CHECK_CALL(MPI_File_read_at_all(file, EACH * world_rank, longs_back, EACH, MPI_LONG, &status));
    CHECK_BYTES(longs_back, longs, sizeof longs);
    /* The library's own form has its own name. */
    char form[MPI_MAX_DATAREP_STRING];
    MPI_Datatype etype, filetype;
    CHECK_CALL(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "internal", MPI_INFO_NULL));
    CHECK_CALL(MPI_File_get_view(file, &at, &etype, &filetype, form));
    CHECK_STRING(form, "internal");
    MPI_Type_free(&all);
    MPI_Type_free(&every);
    MPI_Type_free(&raw);
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
