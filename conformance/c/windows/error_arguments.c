/* ranks: 1 2 */
/* MPI 5.0 section 12.6: wrong arguments of the operations give their classes: rank, count, type,
 * operation; the window works afterwards. A user's operation is not allowed in accumulates. */
#include "check.h"

static void user(void *in, void *out, int *length, MPI_Datatype *type)
{
    (void)in, (void)out, (void)length, (void)type;
}

int main(int argc, char **argv)
{
    int data = 0, value = 5, bad = world_size;
    MPI_Datatype uncommitted;
    MPI_Op op;
    MPI_Win win;
    start(&argc, &argv);
    errors_return();
    bad = world_size;
    MPI_Op_create(user, 1, &op);
    MPI_Type_contiguous(1, MPI_INT, &uncommitted);
    MPI_Win_create(&data, sizeof data, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_fence(0, win);
    CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, bad, 0, 1, MPI_INT, win), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Get(&value, 1, MPI_INT, -7, 0, 1, MPI_INT, win), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Accumulate(&value, 1, MPI_INT, bad, 0, 1, MPI_INT, MPI_SUM, win), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Fetch_and_op(&value, &value, MPI_INT, bad, 0, MPI_SUM, win), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Put(&value, -1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, 0, 0, -1, MPI_INT, win), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Put(&value, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, win), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_DATATYPE_NULL, win), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Put(&value, 1, uncommitted, 0, 0, 1, MPI_INT, win), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, uncommitted, win), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, op, win), MPI_ERR_OP);
    CHECK_CLASS(MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_OP_NULL, win), MPI_ERR_OP);
    CHECK_CLASS(MPI_Fetch_and_op(&value, &value, MPI_INT, 0, 0, op, win), MPI_ERR_OP);
    CHECK(MPI_Fetch_and_op(&value, &value, uncommitted, 0, 0, MPI_SUM, win) != MPI_SUCCESS);
    CHECK_CLASS(MPI_Compare_and_swap(&value, &value, &value, MPI_DOUBLE, 0, 0, win), MPI_ERR_TYPE);
    CHECK_CALL(MPI_Win_fence(0, win));
    MPI_Barrier(MPI_COMM_WORLD);
    value = 5;
    if (world_rank == 0) CHECK_CALL(MPI_Put(&value, 1, MPI_INT, bad - 1, 0, 1, MPI_INT, win));
    CHECK_CALL(MPI_Win_fence(0, win));
    if (world_rank == bad - 1) CHECK_INT(data, 5);
    MPI_Type_free(&uncommitted);
    MPI_Op_free(&op);
    MPI_Win_free(&win);
    return finish();
}
