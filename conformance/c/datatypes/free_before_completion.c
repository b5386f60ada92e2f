/* ranks: 2 */
/* MPI 5.0 section 5.1.9: freeing a datatype sets the handle to null, but communication that uses it completes normally,
 * and types built from it are not affected. */
#include "check.h"

int main(int argc, char **argv)
{
    static int data[100000];
    MPI_Datatype inner, outer;
    MPI_Request request;
    start(&argc, &argv);
    MPI_Type_vector(50000, 1, 2, MPI_INT, &inner);
    MPI_Type_contiguous(1, inner, &outer);
    MPI_Type_free(&inner);
    MPI_Type_commit(&outer);
    for (int i = 0; i < 100000; i++) data[i] = world_rank == 0 ? i : -1;
    if (world_rank == 0) MPI_Isend(data, 1, outer, 1, 0, MPI_COMM_WORLD, &request);
    else MPI_Irecv(data, 1, outer, 0, 0, MPI_COMM_WORLD, &request);
    MPI_Type_free(&outer);
    CHECK(outer == MPI_DATATYPE_NULL);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (world_rank == 1)
        for (int i = 0; i < 100000; i++) CHECK_INT(data[i], i % 2 ? -1 : i);
    return finish();
}
