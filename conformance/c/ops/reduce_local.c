/* ranks: 1 */
/* MPI 5.0 section 6.9.7: MPI_Reduce_local computes inbuf op inoutbuf into inoutbuf, element by element, without
 * communication. */
#include "check.h"

static void minus(void *in, void *inout, int *length, MPI_Datatype *type)
{
    CHECK(*type == MPI_INT);
    for (int i = 0; i < *length; i++) ((int *)inout)[i] = ((int *)in)[i] - ((int *)inout)[i];
}

static void minus_large(void *in, void *inout, MPI_Count *length, MPI_Datatype *type)
{
    CHECK(*type == MPI_INT);
    for (MPI_Count i = 0; i < *length; i++) ((int *)inout)[i] = ((int *)in)[i] - ((int *)inout)[i];
}

int main(int argc, char **argv)
{
    int left[3] = {10, 20, 30}, right[3] = {1, 2, 3};
    MPI_Op op;
    start(&argc, &argv);
    CHECK_CALL(MPI_Reduce_local(left, right, 3, MPI_INT, MPI_SUM));
    for (int i = 0; i < 3; i++) CHECK_INT(right[i], 11 * (i + 1));
    MPI_Op_create(minus, 0, &op);
    CHECK_CALL(MPI_Reduce_local(left, right, 3, MPI_INT, op));
    for (int i = 0; i < 3; i++) CHECK_INT(right[i], -(i + 1));
    MPI_Op_free(&op);
    CHECK_CALL(MPI_Op_create_c(minus_large, 0, &op));
    CHECK_CALL(MPI_Reduce_local_c(left, right, 3, MPI_INT, op));
    for (int i = 0; i < 3; i++) CHECK_INT(right[i], 11 * (i + 1));
    MPI_Op_free(&op);
    CHECK_CALL(MPI_Reduce_local(left, right, 0, MPI_INT, MPI_SUM));
    return finish();
}
