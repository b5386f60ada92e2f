/* ranks: 2 3 */
/* skip-mpich: there the other ranks wait for ever */
/* MPI 5.0 sections 14.4 and 14.7: an argument that one rank of a collective access gets wrong is an error there. The
 * others can do nothing useful, and OxMPI tells them: every rank's call fails, none waits, and the file stays usable. */
#include "file_name.h"

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Status status;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype type;
    int data = 3, got = 0, code, bad;
    start(&argc, &argv);
    file = new_file("refused");
    bad = world_rank == world_size - 1;
    type = bad ? MPI_DATATYPE_NULL : MPI_INT;
    CHECK(MPI_File_write_at_all(file, 0, &data, 1, type, &status) != MPI_SUCCESS);
    CHECK(MPI_File_write_at_all(file, bad ? -4 : 0, &data, 1, MPI_INT, &status) != MPI_SUCCESS);
    CHECK(MPI_File_read_at_all(file, 0, &got, bad ? -1 : 1, MPI_INT, &status) != MPI_SUCCESS);
    CHECK(MPI_File_write_all(file, bad ? NULL : &data, 1, MPI_INT, &status) != MPI_SUCCESS);
    CHECK(MPI_File_read_all_c(file, &got, 1, type, &status) != MPI_SUCCESS);
    CHECK(MPI_File_write_ordered(file, &data, 1, type, &status) != MPI_SUCCESS);
    CHECK(MPI_File_read_ordered(file, &got, bad ? -1 : 1, MPI_INT, &status) != MPI_SUCCESS);
    code = MPI_File_iwrite_at_all(file, 0, &data, 1, type, &request);
    if (bad) CHECK_CLASS(code, MPI_ERR_TYPE);
    else {
        CHECK_CALL(code);
        CHECK(MPI_Wait(&request, &status) != MPI_SUCCESS);
    }
    code = MPI_File_write_all_begin(file, &data, bad ? -1 : 1, MPI_INT);
    if (bad) CHECK_CLASS(code, MPI_ERR_COUNT);
    else {
        CHECK_CALL(code);
        CHECK(MPI_File_write_all_end(file, &data, &status) != MPI_SUCCESS);
    }
    /* The pieces of a view cannot be less than an etype; one rank's view cannot be. */
    CHECK(MPI_File_set_view(file, 0, MPI_INT, type, "native", MPI_INFO_NULL) != MPI_SUCCESS);
    CHECK(MPI_File_set_view(file, bad ? -1 : 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) != MPI_SUCCESS);
    CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, bad ? "nonsense" : "native", MPI_INFO_NULL) != MPI_SUCCESS);
    CHECK(MPI_File_set_view(file, 0, bad ? MPI_DOUBLE : MPI_INT, MPI_DOUBLE, "native", MPI_INFO_NULL) != MPI_SUCCESS);
    CHECK_CALL(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    CHECK(MPI_File_write_at_all(file, 0, &data, bad ? 3 : 4, bad ? MPI_BYTE : MPI_INT, &status) != MPI_SUCCESS);
    CHECK_CALL(MPI_File_write_at_all(file, world_rank, &data, 1, MPI_INT, &status));
    CHECK_CALL(MPI_File_read_at_all(file, world_rank, &got, 1, MPI_INT, &status));
    CHECK_INT(got, data);
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
