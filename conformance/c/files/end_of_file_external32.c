/* ranks: 1 2 */
/* skip-mpich: ROMIO 5.0.2 writes some types in native form */
/* MPI 5.0 sections 14.4.2 and 14.5.2: a read that comes to the end of a file in external32 delivers the whole values that
 * are there, also of a derived element, and where values are shorter in the file than in memory. */
#include "file_name.h"

enum { THERE = 7, EACH = 5 };

static void look(MPI_File file, MPI_Datatype type, int values)
{
    long got[2 * EACH];
    MPI_Status status;
    int elements;
    for (int i = 0; i < 2 * EACH; i++) got[i] = 99;
    CHECK_CALL(MPI_File_read_at(file, 0, got, 2 * EACH / values, type, &status));
    MPI_Get_elements(&status, type, &elements);
    CHECK_INT(elements, THERE);
    for (int i = 0; i < 2 * EACH; i++) CHECK_INT(got[i], i < THERE ? -1000 * i : 99);
    for (int i = 0; i < 2 * EACH; i++) got[i] = 99;
    CHECK_CALL(MPI_File_read_at_all(file, 0, got, 2 * EACH / values, type, &status));
    MPI_Get_elements(&status, type, &elements);
    CHECK_INT(elements, THERE);
    for (int i = 0; i < 2 * EACH; i++) CHECK_INT(got[i], i < THERE ? -1000 * i : 99);
}

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Datatype several;
    MPI_Status status;
    long data[THERE];
    start(&argc, &argv);
    file = new_file("end-external32");
    for (int i = 0; i < THERE; i++) data[i] = -1000 * i;
    CHECK_CALL(MPI_File_set_view(file, 0, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL));
    if (world_rank == 0) CHECK_CALL(MPI_File_write_at(file, 0, data, THERE, MPI_LONG, &status));
    sync_all(file);
    MPI_Type_contiguous(EACH, MPI_LONG, &several);
    MPI_Type_commit(&several);
    look(file, MPI_LONG, 1);
    look(file, several, EACH);
    MPI_Type_free(&several);
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
