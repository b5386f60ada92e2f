/* ranks: 1 2 4 */
/* skip-mpich: ROMIO 5.0.2 counts etypes behind the file's end when it reads through a view with holes */
/* MPI 5.0 section 14.4.3: MPI_File_iread and MPI_File_iwrite move the individual pointer when they begin, so several
 * may be under way one behind the other, through a view with holes; short ones and long ones, and those
 * that end before the file does, tell by their status what was accessed. Each can be waited for and tested for in
 * any order. */
#include "file_name.h"

enum { REQUESTS = 6, SHORT = 16, LONG = 20000 };

static int count_at(int n) { return n % 2 == 0 ? SHORT : LONG; }

int main(int argc, char **argv)
{
    int *data[REQUESTS], *got[REQUESTS], order[REQUESTS] = {3, 0, 5, 2, 1, 4}, is_over = 0, wrong = 0;
    MPI_Offset position, expected = 0, bytes;
    MPI_Request request[REQUESTS], more;
    MPI_Status status;
    MPI_Datatype view;
    start(&argc, &argv);
    MPI_File file = new_file("nonblocking_pointer");
    /* Every rank has every world_size-th int. */
    MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)sizeof(int) * world_size, &view);
    MPI_Type_commit(&view);
    CHECK_CALL(MPI_File_set_view(file, (MPI_Offset)sizeof(int) * world_rank, MPI_INT, view, "native", MPI_INFO_NULL));
    MPI_Type_free(&view);
    for (int n = 0; n < REQUESTS; n++) {
        data[n] = malloc(LONG * sizeof(int));
        got[n] = calloc(LONG, sizeof(int));
        for (int i = 0; i < count_at(n); i++) data[n][i] = world_rank * 100 + n * 10 + i % 7;
        CHECK_CALL(MPI_File_iwrite(file, data[n], count_at(n), MPI_INT, &request[n]));
        expected += count_at(n);
        CHECK_CALL(MPI_File_get_position(file, &position));
        CHECK_INT(position, expected);
    }
    for (int n = 0; n < REQUESTS; n++) {
        CHECK_CALL(MPI_Wait(&request[order[n]], &status));
        CHECK_INT(count_of(&status, MPI_INT), count_at(order[n]));
    }
    sync_all(file);
    CHECK_CALL(MPI_File_get_size(file, &bytes));
    CHECK_INT(bytes, expected * world_size * (MPI_Offset)sizeof(int));
    CHECK_CALL(MPI_File_seek(file, 0, MPI_SEEK_SET));
    for (int n = 0; n < REQUESTS; n++) CHECK_CALL(MPI_File_iread(file, got[n], count_at(n), MPI_INT, &request[n]));
    /* The last one reaches beyond the end by nine of ten. */
    CHECK_CALL(MPI_File_seek(file, -1, MPI_SEEK_CUR));
    CHECK_CALL(MPI_File_get_position(file, &position));
    CHECK_INT(position, expected - 1);
    int tail[10] = {0};
    CHECK_CALL(MPI_File_iread(file, tail, 10, MPI_INT, &more));
    while (!is_over) CHECK_CALL(MPI_Test(&more, &is_over, &status));
    CHECK_INT(count_of(&status, MPI_INT), 1);
    CHECK_INT(tail[0], data[REQUESTS - 1][LONG - 1]);
    CHECK_INT(tail[1], 0);
    CHECK_CALL(MPI_File_get_position(file, &position));
    CHECK_INT(position, expected + 9);
    CHECK_CALL(MPI_Waitall(REQUESTS, request, MPI_STATUSES_IGNORE));
    for (int n = 0; n < REQUESTS; n++) wrong += memcmp(got[n], data[n], count_at(n) * sizeof(int)) != 0;
    CHECK_INT(wrong, 0);
    /* Nothing at all is an access, too. */
    CHECK_CALL(MPI_File_iwrite(file, NULL, 0, MPI_INT, &more));
    CHECK_CALL(MPI_Wait(&more, &status));
    CHECK_INT(count_of(&status, MPI_INT), 0);
    for (int n = 0; n < REQUESTS; n++) { free(data[n]); free(got[n]); }
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
