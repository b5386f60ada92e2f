/* ranks: 2 */
/* expect: silence */
/* MPI 5.0 sections 3.3.1 and 5.1.11: MPI_BYTE and MPI_PACKED go with everything, types that are built in different ways
 * from the same basic types match, no elements are of any type, and a prefix may be received. Programs also mix types of
 * one size and send complex numbers as two reals; other libraries let them. */
#include "check.h"

static void pass(const void *sent, int count, MPI_Datatype type, int room, MPI_Datatype taken)
{
    static char received[4096];
    if (world_rank == 0)
        CHECK_CALL(MPI_Send(sent, count, type, 1, 0, MPI_COMM_WORLD));
    else
        CHECK_CALL(MPI_Recv(received, room, taken, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    static double data[512];
    MPI_Datatype strided, pair, both;
    MPI_Datatype parts[2] = {MPI_INT, MPI_DOUBLE};
    int lengths[2] = {2, 1};
    MPI_Aint places[2] = {0, 8};
    start(&argc, &argv);
    MPI_Type_vector(3, 1, 2, MPI_DOUBLE, &strided);
    MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
    MPI_Type_create_struct(2, lengths, places, parts, &both);
    MPI_Type_commit(&strided);
    MPI_Type_commit(&pair);
    MPI_Type_commit(&both);
    pass(data, 4, MPI_DOUBLE, 32, MPI_BYTE);
    pass(data, 32, MPI_BYTE, 4, MPI_DOUBLE);
    pass(data, 16, MPI_PACKED, 4, MPI_INT);
    pass(data, 2, strided, 6, MPI_DOUBLE);
    pass(data, 4, MPI_DOUBLE, 2, pair);
    pass(data, 4, MPI_DOUBLE, 100, MPI_DOUBLE);
    pass(data, 0, MPI_CHAR, 4, MPI_DOUBLE);
    pass(data, 4, MPI_INT, 4, MPI_UNSIGNED);
    pass(data, 4, MPI_FLOAT, 4, MPI_INT);
    pass(data, 4, MPI_INT, 4, MPI_INTEGER);
    pass(data, 4, MPI_LONG, 4, MPI_INT64_T);
    pass(data, 4, MPI_C_DOUBLE_COMPLEX, 8, MPI_DOUBLE);
    pass(data, 3, MPI_2INT, 6, MPI_INT);
    pass(data, 2, both, 32, MPI_CHAR);
    MPI_Type_free(&strided);
    MPI_Type_free(&pair);
    MPI_Type_free(&both);
    return finish();
}
