/* ranks: 1 */
/* MPI 5.0 section 9.4: MPI_ERR_ARG is the class for an argument that is wrong and has no class of its own: null
 * pointers for results, an unknown split type or array order. */
#include "check.h"

int main(int argc, char **argv)
{
    int size[1] = {4}, part[1] = {2}, at[1] = {0};
    MPI_Datatype type;
    MPI_Comm comm;
    start(&argc, &argv);
    errors_return();
    CHECK_CLASS(MPI_Comm_rank(MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Type_size(MPI_INT, NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Comm_split_type(MPI_COMM_WORLD, 12345, 0, MPI_INFO_NULL, &comm), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Type_create_subarray(1, size, part, at, 4711, MPI_INT, &type), MPI_ERR_ARG);
    CHECK(MPI_Type_vector(1, -1, 1, MPI_INT, &type) != MPI_SUCCESS);
    return finish();
}
