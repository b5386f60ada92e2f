/* ranks: 3 4 */
/* MPI 5.0 section 8.5.1: if the grid is smaller than the group of comm, some processes are returned MPI_COMM_NULL; with
 * ndims 0 the grid has one process. MPI_Graph_create does the same (section 8.5.3). */
#include "check.h"

static void check_members(MPI_Comm made, int members)
{
    int size = -1, rank = -1, all = 0, one;
    if (made != MPI_COMM_NULL) {
        MPI_Comm_size(made, &size);
        MPI_Comm_rank(made, &rank);
        CHECK_INT(size, members);
        CHECK(rank >= 0 && rank < members);
    }
    one = made != MPI_COMM_NULL;
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_INT(all, members);
    if (made != MPI_COMM_NULL) MPI_Comm_free(&made);
}

int main(int argc, char **argv)
{
    int dims[2] = {2, 1}, periods[2] = {0, 1}, index[2] = {1, 2}, edges[2] = {1, 0};
    MPI_Comm made;
    start(&argc, &argv);
    for (int reorder = 0; reorder < 2; reorder++) {
        CHECK_CALL(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, reorder, &made));
        check_members(made, 2);
        CHECK_CALL(MPI_Cart_create(MPI_COMM_WORLD, 0, dims, periods, reorder, &made));
        check_members(made, 1);
        CHECK_CALL(MPI_Graph_create(MPI_COMM_WORLD, 2, index, edges, reorder, &made));
        check_members(made, 2);
    }
    return finish();
}
