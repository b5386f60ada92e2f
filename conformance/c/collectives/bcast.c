/* ranks: 1 2 3 4 */
/* MPI 5.0 section 6.4: every process ends with the root's data, from any root, for any size including none, and with
 * different but matching types on the two sides (a vector at the root, contiguous elsewhere). */
#include "check.h"

int main(int argc, char **argv)
{
    static const int sizes[] = {0, 1, 7, 1000, 40000, 300000};
    MPI_Datatype vector;
    int *data = malloc(300000 * sizeof(int));
    start(&argc, &argv);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        int root = (int)k % world_size, wrong = 0;
        for (int i = 0; i < sizes[k]; i++) data[i] = world_rank == root ? i + (int)k : -1;
        CHECK_CALL(MPI_Bcast(data, sizes[k], MPI_INT, root, MPI_COMM_WORLD));
        for (int i = 0; i < sizes[k]; i++) wrong += data[i] != i + (int)k;
        CHECK_INT(wrong, 0);
    }
    MPI_Type_vector(100, 1, 3, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    for (int i = 0; i < 300; i++) data[i] = world_rank == 0 ? i : -1;
    MPI_Bcast(data, world_rank == 0 ? 1 : 100, world_rank == 0 ? vector : MPI_INT, 0, MPI_COMM_WORLD);
    if (world_rank != 0)
        for (int i = 0; i < 100; i++) CHECK_INT(data[i], 3 * i);
    MPI_Type_free(&vector);
    free(data);
    return finish();
}
