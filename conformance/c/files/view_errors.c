/* ranks: 1 2 */
/* skip-mpich: ROMIO 5.0.2 takes filetypes that go back or overlap in files for writing, and has other classes */
/* MPI 5.0 section 14.3: displacements of a filetype neither are negative nor decrease, and in a file for writing its parts
 * do not overlap; a filetype is built from etypes; both are committed; disp is not negative, and MPI_DISPLACEMENT_CURRENT is for
 * sequential files. After an error the old view is in force. The text names no class for data that cannot lie like that:
 * MPI_ERR_IO, as programs know it from ROMIO. */
#include "file_name.h"

static MPI_File file;

static int set(MPI_Datatype etype, MPI_Datatype filetype)
{
    return MPI_File_set_view(file, 0, etype, filetype, "native", MPI_INFO_NULL);
}

int main(int argc, char **argv)
{
    MPI_Datatype back, twice, odd, open, before, got_etype, got_filetype;
    MPI_Offset disp;
    MPI_Status status;
    int ones[2] = {1, 1}, down[2] = {4, 0}, same[2] = {1, 1}, negative[1] = {-1}, value = 3;
    char form[MPI_MAX_DATAREP_STRING];
    start(&argc, &argv);
    file = new_file("view-errors");
    CHECK_CALL(MPI_File_set_view(file, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    MPI_Type_indexed(2, ones, down, MPI_INT, &back);
    MPI_Type_commit(&back);
    CHECK_CLASS(set(MPI_INT, back), MPI_ERR_IO);
    MPI_Type_indexed(2, ones, same, MPI_INT, &twice);
    MPI_Type_commit(&twice);
    CHECK_CLASS(set(MPI_INT, twice), MPI_ERR_IO);
    MPI_Type_indexed(1, ones, negative, MPI_INT, &before);
    MPI_Type_commit(&before);
    CHECK_CLASS(set(MPI_INT, before), MPI_ERR_IO);
    MPI_Type_contiguous(3, MPI_BYTE, &odd);
    MPI_Type_commit(&odd);
    CHECK_CLASS(set(MPI_INT, odd), MPI_ERR_ARG);
    MPI_Type_contiguous(2, MPI_INT, &open);
    CHECK_CLASS(set(MPI_INT, open), MPI_ERR_TYPE);
    CHECK_CLASS(set(open, open), MPI_ERR_TYPE);
    CHECK_CLASS(set(MPI_DATATYPE_NULL, MPI_INT), MPI_ERR_TYPE);
    CHECK_CLASS(set(MPI_INT, MPI_DATATYPE_NULL), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_File_set_view(file, -5, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "Native", MPI_INFO_NULL), MPI_ERR_UNSUPPORTED_DATAREP);
    CHECK_CLASS(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "", MPI_INFO_NULL), MPI_ERR_UNSUPPORTED_DATAREP);
    CHECK_CALL(MPI_File_get_view(file, &disp, &got_etype, &got_filetype, form));
    CHECK_INT(disp, 8);
    CHECK(got_etype == MPI_INT && got_filetype == MPI_INT);
    CHECK_CALL(MPI_File_write_at(file, world_rank, &value, 1, MPI_INT, &status));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_get_size(file, &disp));
    CHECK_INT(disp, 8 + 4 * world_size);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&back);
    MPI_Type_free(&twice);
    MPI_Type_free(&before);
    MPI_Type_free(&odd);
    MPI_Type_free(&open);
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
