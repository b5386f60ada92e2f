/* ranks: 1 2 4 */
/* MPI 5.0 section 14.4: nonblocking accesses, independent and collective, are requests like others: they can be waited for
 * and tested in lists, together with messages, in any order, and their statuses count. Datatypes may be freed meanwhile. */
#include "file_name.h"

enum { EACH = 20000, PARTS = 5 };

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Request requests[PARTS + 2];
    MPI_Status statuses[PARTS + 2], status;
    MPI_Datatype type;
    int *data = malloc(EACH * PARTS * 4), *got = calloc(EACH * PARTS, 4), token = 0, flag = 0;
    start(&argc, &argv);
    file = new_file("nonblocking");
    for (int i = 0; i < EACH * PARTS; i++) data[i] = i ^ (world_rank << 20);
    MPI_Offset base = (MPI_Offset)world_rank * EACH * PARTS * 4;
    MPI_Type_contiguous(EACH, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < PARTS; i++)
        CHECK_CALL(MPI_File_iwrite_at(file, base + 4 * EACH * i, data + EACH * i, 1, type, &requests[i]));
    MPI_Type_free(&type);
    int to = (world_rank + 1) % world_size, from = (world_rank + world_size - 1) % world_size;
    MPI_Irecv(&token, 1, MPI_INT, from, 3, MPI_COMM_WORLD, &requests[PARTS]);
    MPI_Isend(&world_rank, 1, MPI_INT, to, 3, MPI_COMM_WORLD, &requests[PARTS + 1]);
    CHECK_CALL(MPI_Waitall(PARTS + 2, requests, statuses));
    CHECK_INT(token, from);
    for (int i = 0; i < PARTS; i++) CHECK_INT(count_of(&statuses[i], MPI_INT), EACH);
    for (int i = 0; i < PARTS + 2; i++) CHECK(requests[i] == MPI_REQUEST_NULL);
    for (int i = 0; i < PARTS; i++)
        CHECK_CALL(MPI_File_iread_at(file, base + 4 * EACH * i, got + EACH * i, EACH, MPI_INT, &requests[i]));
    for (int left = PARTS; left > 0;) {
        int index = MPI_UNDEFINED;
        CHECK_CALL(MPI_Waitany(PARTS, requests, &index, &status));
        if (index == MPI_UNDEFINED) break;
        CHECK_INT(count_of(&status, MPI_INT), EACH);
        left--;
    }
    CHECK_BYTES(got, data, EACH * PARTS * 4);
    /* Several collective ones at once, in the same order on all ranks; they end in any. */
    for (int i = 0; i < PARTS; i++) {
        data[EACH * i] += 5;
        CHECK_CALL(MPI_File_iwrite_at_all(file, base + 4 * EACH * i, data + EACH * i, EACH, MPI_INT, &requests[i]));
    }
    for (int i = PARTS - 1; i >= 0; i--) CHECK_CALL(MPI_Wait(&requests[i], &status));
    memset(got, 0, EACH * PARTS * 4);
    CHECK_CALL(MPI_File_seek(file, base, MPI_SEEK_SET));
    CHECK_CALL(MPI_File_iread_all(file, got, EACH * PARTS, MPI_INT, &requests[0]));
    while (!flag) CHECK_CALL(MPI_Test(&requests[0], &flag, &status));
    CHECK_INT(count_of(&status, MPI_INT), EACH * PARTS);
    CHECK_BYTES(got, data, EACH * PARTS * 4);
    /* A request may be freed; what it writes is written. */
    MPI_Barrier(MPI_COMM_WORLD);
    data[0] = 12345 + world_rank;
    CHECK_CALL(MPI_File_iwrite_at(file, base, data, EACH, MPI_INT, &requests[0]));
    CHECK_CALL(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    CHECK_CALL(MPI_File_iwrite_shared(file, data, 0, MPI_INT, &requests[0]));
    CHECK_CALL(MPI_Wait(&requests[0], &status));
    CHECK_INT(count_of(&status, MPI_INT), 0);
    CHECK_CALL(MPI_File_close(&file));
    free(data);
    free(got);
    return finish();
}
