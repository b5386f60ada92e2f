/* ranks: 1 2 */
/* MPI 5.0 chapter 11 ("Allowing User Functions at MPI Finalization"): MPI_Finalize first frees MPI_COMM_SELF, which
 * runs the delete callbacks of its attributes in the reverse of the order they were set, before any other part of MPI
 * is finalised. Inside the callbacks MPI_Finalized is therefore still false and MPI_COMM_WORLD still works. */
#include "check.h"

static int order[3], calls = 0;

static int on_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    int flag = -1, rank = -1;
    (void)keyval;
    CHECK(comm == MPI_COMM_SELF);
    CHECK_INT(*(int *)extra, 42);
    MPI_Finalized(&flag);
    CHECK_INT(flag, 0);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK_INT(rank, world_rank);
    if (calls < 3) order[calls] = *(int *)value;
    calls++;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    static int values[3] = {10, 11, 12}, extra = 42;
    int keys[3];
    start(&argc, &argv);
    for (int i = 0; i < 3; i++) {
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &keys[i], &extra);
        MPI_Comm_set_attr(MPI_COMM_SELF, keys[i], &values[i]);
    }
    CHECK_INT(calls, 0);
    MPI_Finalize();
    CHECK_INT(calls, 3);
    for (int i = 0; i < 3; i++) CHECK_INT(order[i], 12 - i);
    return verdict();
}
