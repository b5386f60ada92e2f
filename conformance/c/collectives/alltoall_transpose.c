/* ranks: 2 3 */
/* MPI 5.0 sections 6.8 and 5.1.11: block j of the send buffer starts j * count extents in, so with a column type
 * resized to one int an alltoall sends columns; received as plain ints they make the transpose of a matrix that is cut
 * into row blocks. */
#include "check.h"

int main(int argc, char **argv)
{
    enum { SIDE = 6 };
    int local[SIDE][SIDE], turned[SIDE][SIDE];
    MPI_Datatype column, step;
    start(&argc, &argv);
    int width = SIDE / world_size;
    for (int i = 0; i < width; i++)
        for (int j = 0; j < SIDE; j++) local[i][j] = 100 * (world_rank * width + i) + j;
    MPI_Type_vector(width, 1, SIDE, MPI_INT, &column);
    MPI_Type_create_resized(column, 0, sizeof(int), &step);
    MPI_Type_commit(&step);
    /* Rank r gets my part of the columns r * width and following, one after the other. */
    int block[SIDE * SIDE];
    CHECK_CALL(MPI_Alltoall(local, width, step, block, width * width, MPI_INT, MPI_COMM_WORLD));
    for (int r = 0; r < world_size; r++)
        for (int c = 0; c < width; c++)
            for (int i = 0; i < width; i++) turned[c][r * width + i] = block[r * width * width + c * width + i];
    for (int c = 0; c < width; c++)
        for (int j = 0; j < SIDE; j++) CHECK_INT(turned[c][j], 100 * j + world_rank * width + c);
    MPI_Type_free(&column);
    MPI_Type_free(&step);
    return finish();
}
