/* ranks: 1 2 4 */
/* MPI 5.0 section 14.3: a view is the filetype, repeated as MPI_Type_contiguous would repeat it, from disp on. Each
 * constructor deals the elements of a tile out to the ranks; together they see every element once, and what a rank writes
 * through its view is where the typemap says, which is checked byte by byte. */
#include "file_name.h"

enum { EACH = 24, DISP = 12 };

/* The value of the element at a place of the file, if this rank has written it as its n-th. */
static int value(int rank, int n) { return 1000 * (rank + 1) + n; }

/* Writes EACH elements through the view, reads them back, and compares with what the places say. */
static void round_trip(MPI_File file, MPI_Datatype filetype, const int *places, int all)
{
    int data[EACH], got[EACH], *whole = malloc((all + 1) * sizeof(int));
    MPI_Status status;
    CHECK_CALL(MPI_File_set_size(file, 0));
    CHECK_CALL(MPI_File_set_view(file, DISP, MPI_INT, filetype, "native", MPI_INFO_NULL));
    for (int i = 0; i < EACH; i++) data[i] = value(world_rank, i);
    CHECK_CALL(MPI_File_write_all(file, data, EACH / 2, MPI_INT, &status));
    CHECK_INT(count_of(&status, MPI_INT), EACH / 2);
    CHECK_CALL(MPI_File_write(file, data + EACH / 2, EACH - EACH / 2, MPI_INT, &status));
    sync_all(file);
    memset(got, 0, sizeof got);
    CHECK_CALL(MPI_File_read_at_all(file, 0, got, EACH, MPI_INT, &status));
    CHECK_BYTES(got, data, sizeof data);
    memset(got, 0, sizeof got);
    CHECK_CALL(MPI_File_read_at(file, 3, got, EACH - 3, MPI_INT, &status));
    CHECK_BYTES(got, data + 3, sizeof data - 12);
    view_bytes(file);
    CHECK_CALL(MPI_File_read_at(file, DISP, whole, all, MPI_INT, &status));
    for (int i = 0; i < EACH; i++) CHECK_INT(whole[places[i]], data[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    free(whole);
}

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Datatype type, vector;
    int places[EACH], n = 0;
    start(&argc, &argv);
    file = new_file("view-types");
    int size = world_size, rank = world_rank;
    /* A column of a matrix of 6 rows: as subarray and as darray; both give the same places. */
    int sizes[2] = {6, 4 * size}, part[2] = {6, 4}, at[2] = {0, 4 * rank};
    n = 0;
    for (int row = 0; row < 6; row++)
        for (int column = 0; column < 4; column++) places[n++] = row * 4 * size + 4 * rank + column;
    MPI_Type_create_subarray(2, sizes, part, at, MPI_ORDER_C, MPI_INT, &type);
    MPI_Type_commit(&type);
    round_trip(file, type, places, 24 * size);
    MPI_Type_free(&type);
    int distribs[2] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK}, dargs[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
    int processes[2] = {1, size};
    MPI_Type_create_darray(size, rank, 2, sizes, distribs, dargs, processes, MPI_ORDER_C, MPI_INT, &type);
    MPI_Type_commit(&type);
    round_trip(file, type, places, 24 * size);
    MPI_Type_free(&type);
    /* Cyclic in one dimension: every size-th element. */
    int length = EACH * size;
    int cyclic = MPI_DISTRIBUTE_CYCLIC, one = 1;
    MPI_Type_create_darray(size, rank, 1, &length, &cyclic, &one, &size, MPI_ORDER_FORTRAN, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < EACH; i++) places[i] = i * size + rank;
    round_trip(file, type, places, length);
    MPI_Type_free(&type);
    /* Three blocks of different lengths, with holes that no rank sees, in tiles of 10 per rank. */
    int lengths[3] = {1, 2, 3}, from[3] = {10 * rank + 1, 10 * rank + 3, 10 * rank + 6};
    MPI_Type_indexed(3, lengths, from, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, 40 * size, &type);
    MPI_Type_commit(&type);
    n = 0;
    for (int tile = 0; tile < 4; tile++)
        for (int block = 0; block < 3; block++)
            for (int i = 0; i < lengths[block]; i++) places[n++] = tile * 10 * size + from[block] + i;
    round_trip(file, type, places, 40 * size);
    MPI_Type_free(&type);
    MPI_Type_free(&vector);
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
