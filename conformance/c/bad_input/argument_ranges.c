/* ranks: 1 */
/* skip-mpich: it accepts what is out of range, or calls a negative start MPI_ERR_COUNT; the standard leaves that open */
/* MPI 5.0 sections 7.4.2, 5.1.3 and 9.4: a colour is not negative (or MPI_UNDEFINED); a subarray lies inside its array;
 * an error code is one that exists. What is out of range is MPI_ERR_ARG. */
#include "check.h"

int main(int argc, char **argv)
{
    int size[1] = {4}, part[1] = {5}, at[1] = {0}, class = 0;
    MPI_Datatype type;
    MPI_Comm comm;
    start(&argc, &argv);
    errors_return();
    CHECK_CLASS(MPI_Comm_split(MPI_COMM_WORLD, -7, 0, &comm), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Type_create_subarray(1, size, part, at, MPI_ORDER_C, MPI_INT, &type), MPI_ERR_ARG);
    part[0] = 2;
    at[0] = 3;
    CHECK_CLASS(MPI_Type_create_subarray(1, size, part, at, MPI_ORDER_C, MPI_INT, &type), MPI_ERR_ARG);
    at[0] = -1;
    CHECK_CLASS(MPI_Type_create_subarray(1, size, part, at, MPI_ORDER_C, MPI_INT, &type), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Error_class(-17, &class), MPI_ERR_ARG);
    return finish();
}
