/* ranks: 1 2 */
/* skip-mpich: nonblocking collective reads of ROMIO 5.0.2 count what lies behind the end */
/* MPI 5.0 sections 14.1.1, 14.4.2 and 14.4.3: a read that comes to the end of the file delivers what is there, and its
 * status counts that, by every routine; memory behind it is left alone. The individual pointer moves by what was asked
 * for. MPI_Get_elements counts the basic elements where the last of a derived type is not whole. */
#include "file_name.h"

enum { THERE = 10, ASKED = 16 };

static int data[THERE], got[ASKED];

static void judge(int line, MPI_Status *status, int from)
{
    int count = count_of(status, MPI_INT), wanted = from < THERE ? THERE - from : 0;
    if (count != wanted) check_int(line, "count", count, wanted);
    for (int i = 0; i < ASKED; i++) check_int(line, "got[i]", got[i], i < wanted ? data[from + i] : -7);
    for (int i = 0; i < ASKED; i++) got[i] = -7;
}

#define JUDGE(from) judge(__LINE__, &status, from)

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Status status;
    MPI_Request request;
    MPI_Offset at;
    MPI_Datatype four;
    int elements;
    start(&argc, &argv);
    file = new_file("end");
    for (int i = 0; i < THERE; i++) data[i] = 50 + i;
    for (int i = 0; i < ASKED; i++) got[i] = -7;
    CHECK_CALL(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    if (world_rank == 0) CHECK_CALL(MPI_File_write(file, data, THERE, MPI_INT, &status));
    sync_all(file);
    CHECK_CALL(MPI_File_read_at(file, 4, got, ASKED, MPI_INT, &status));
    JUDGE(4);
    CHECK_CALL(MPI_File_read_at_all(file, 3, got, ASKED, MPI_INT, &status));
    JUDGE(3);
    CHECK_CALL(MPI_File_read_at_all(file, 10 + world_rank, got, ASKED, MPI_INT, &status));
    JUDGE(10);
    CHECK_CALL(MPI_File_iread_at(file, 9, got, ASKED, MPI_INT, &request));
    CHECK_CALL(MPI_Wait(&request, &status));
    JUDGE(9);
    CHECK_CALL(MPI_File_iread_at_all(file, 8, got, ASKED, MPI_INT, &request));
    CHECK_CALL(MPI_Wait(&request, &status));
    JUDGE(8);
    CHECK_CALL(MPI_File_read_at_all_begin(file, 2, got, ASKED, MPI_INT));
    CHECK_CALL(MPI_File_read_at_all_end(file, got, &status));
    JUDGE(2);
    CHECK_CALL(MPI_File_seek(file, 5, MPI_SEEK_SET));
    CHECK_CALL(MPI_File_read_all(file, got, ASKED, MPI_INT, &status));
    JUDGE(5);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    CHECK_CALL(MPI_File_read_ordered(file, got, ASKED, MPI_INT, &status));
    JUDGE(ASKED * world_rank);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_get_position_shared(file, &at));
    CHECK_INT(at, ASKED * world_size);
    CHECK_CALL(MPI_File_read_at(file, 1000000, got, ASKED, MPI_INT, &status));
    JUDGE(1000000);
    /* Of three times four ints, two times and two elements are there. */
    MPI_Type_contiguous(4, MPI_INT, &four);
    MPI_Type_commit(&four);
    CHECK_CALL(MPI_File_read_at(file, 0, got, 3, four, &status));
    CHECK_INT(count_of(&status, four), MPI_UNDEFINED);
    MPI_Get_elements(&status, four, &elements);
    CHECK_INT(elements, THERE);
    CHECK_BYTES(got, data, sizeof data);
    CHECK_CALL(MPI_File_read_at_all(file, 2, got, 3, four, &status));
    CHECK_INT(count_of(&status, four), 2);
    MPI_Type_free(&four);
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
