/* ranks: 1 2 3 4 */
/* MPI 5.0 section 6.7: everybody gets the concatenation in rank order; in place too; and with a derived type that
 * interleaves the pieces (received with extent of one int, so piece r starts at element r). */
#include "check.h"

int main(int argc, char **argv)
{
    static int all[4 * 5000], mine[5000];
    MPI_Datatype column, interleaved;
    start(&argc, &argv);
    for (int count = 1; count <= 5000; count += 4999) {
        for (int i = 0; i < count; i++) mine[i] = 10000 * world_rank + i;
        CHECK_CALL(MPI_Allgather(mine, count, MPI_INT, all, count, MPI_INT, MPI_COMM_WORLD));
        for (int i = 0; i < count * world_size; i++) CHECK_INT(all[i], 10000 * (i / count) + i % count);
        memset(all, 0, sizeof all);
        memcpy(&all[world_rank * count], mine, count * sizeof(int));
        CHECK_CALL(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, count, MPI_INT, MPI_COMM_WORLD));
        for (int i = 0; i < count * world_size; i++) CHECK_INT(all[i], 10000 * (i / count) + i % count);
    }
    MPI_Type_vector(100, 1, world_size, MPI_INT, &column);
    MPI_Type_create_resized(column, 0, sizeof(int), &interleaved);
    MPI_Type_commit(&interleaved);
    CHECK_CALL(MPI_Allgather(mine, 100, MPI_INT, all, 1, interleaved, MPI_COMM_WORLD));
    for (int i = 0; i < 100 * world_size; i++) CHECK_INT(all[i], 10000 * (i % world_size) + i / world_size);
    MPI_Type_free(&column);
    MPI_Type_free(&interleaved);
    return finish();
}
