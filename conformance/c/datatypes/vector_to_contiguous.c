/* ranks: 2 */
/* MPI 5.0 section 3.3.1 and 5.1.11: only the type signatures of sender and receiver must agree, not their layouts. A
 * column of a matrix (a vector) is received as contiguous ints, and the other way round, small and large. */
#include "check.h"

enum { ROWS = 500, COLUMNS = 40 };

int main(int argc, char **argv)
{
    static int matrix[ROWS][COLUMNS], column[ROWS];
    MPI_Datatype type;
    MPI_Status status;
    int count = -1, elements = -1;
    start(&argc, &argv);
    MPI_Type_vector(ROWS, 1, COLUMNS, MPI_INT, &type);
    MPI_Type_commit(&type);
    if (world_rank == 0) {
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++) matrix[i][j] = 1000 * i + j;
        MPI_Send(&matrix[0][7], 1, type, 1, 0, MPI_COMM_WORLD);
        for (int i = 0; i < ROWS; i++) column[i] = -i;
        MPI_Send(column, ROWS, MPI_INT, 1, 1, MPI_COMM_WORLD);
    } else {
        MPI_Recv(column, ROWS, MPI_INT, 0, 0, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK_INT(count, ROWS);
        for (int i = 0; i < ROWS; i++) CHECK_INT(column[i], 1000 * i + 7);
        MPI_Recv(&matrix[0][3], 1, type, 0, 1, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, type, &count);
        MPI_Get_elements(&status, type, &elements);
        CHECK_INT(count, 1);
        CHECK_INT(elements, ROWS);
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++) CHECK_INT(matrix[i][j], j == 3 ? -i : 0);
    }
    MPI_Type_free(&type);
    CHECK(type == MPI_DATATYPE_NULL);
    return finish();
}
