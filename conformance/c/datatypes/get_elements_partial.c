/* ranks: 2 */
/* MPI 5.0 section 5.1.11, example with a type of two reals: receiving 2 and then 3 basic elements into buffers of that
 * type gives MPI_Get_count 1 and MPI_UNDEFINED, MPI_Get_elements 2 and 3. Only as much of the buffer is written as
 * arrived. */
#include "check.h"

int main(int argc, char **argv)
{
    float data[4] = {1, 2, 3, 4};
    int count, elements;
    MPI_Count large;
    MPI_Datatype pair;
    MPI_Status status;
    start(&argc, &argv);
    MPI_Type_contiguous(2, MPI_FLOAT, &pair);
    MPI_Type_commit(&pair);
    if (world_rank == 0) {
        MPI_Send(data, 2, MPI_FLOAT, 1, 0, MPI_COMM_WORLD);
        MPI_Send(data, 3, MPI_FLOAT, 1, 0, MPI_COMM_WORLD);
    } else {
        for (int i = 0; i < 4; i++) data[i] = -1;
        MPI_Recv(data, 2, pair, 0, 0, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, pair, &count);
        MPI_Get_elements(&status, pair, &elements);
        CHECK_INT(count, 1);
        CHECK_INT(elements, 2);
        CHECK_DOUBLE(data[2], -1);
        MPI_Recv(data, 2, pair, 0, 0, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, pair, &count);
        MPI_Get_elements(&status, pair, &elements);
        MPI_Get_elements_c(&status, pair, &large);
        CHECK_INT(count, MPI_UNDEFINED);
        CHECK_INT(elements, 3);
        CHECK_INT(large, 3);
        CHECK_DOUBLE(data[2], 3);
        CHECK_DOUBLE(data[3], -1);
    }
    MPI_Type_free(&pair);
    return finish();
}
