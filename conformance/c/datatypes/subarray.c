/* ranks: 1 */
/* MPI 5.0 section 5.1.3: a subarray type selects a block of a larger array; its extent is that of the whole array and
 * its lower bound 0. In C order the last dimension is contiguous, in Fortran order the first. */
#include "check.h"

int main(int argc, char **argv)
{
    int sizes[2] = {4, 6}, parts[2] = {2, 3}, starts[2] = {1, 2}, array[24], out[6], size = -1;
    MPI_Aint lower, extent, true_lower, true_extent;
    MPI_Datatype type;
    start(&argc, &argv);
    for (int i = 0; i < 24; i++) array[i] = i;
    for (int fortran = 0; fortran < 2; fortran++) {
        MPI_Type_create_subarray(2, sizes, parts, starts, fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Type_get_extent(type, &lower, &extent);
        MPI_Type_size(type, &size);
        CHECK_INT(lower, 0);
        CHECK_INT(extent, 24 * sizeof(int));
        CHECK_INT(size, 6 * sizeof(int));
        MPI_Type_get_true_extent(type, &true_lower, &true_extent);
        /* C: first element 1*6+2 = 8, last 2*6+4 = 16. Fortran: first 1+2*4 = 9, last 2+4*4 = 18. */
        CHECK_INT(true_lower, (fortran ? 9 : 8) * sizeof(int));
        CHECK_INT(true_extent, (fortran ? 10 : 9) * sizeof(int));
        MPI_Request request;
        MPI_Irecv(out, 6, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
        MPI_Send(array, 1, type, 0, 0, MPI_COMM_SELF);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        int k = 0;
        if (fortran) {
            for (int j = 2; j < 5; j++)
                for (int i = 1; i < 3; i++) CHECK_INT(out[k++], i + 4 * j);
        } else {
            for (int i = 1; i < 3; i++)
                for (int j = 2; j < 5; j++) CHECK_INT(out[k++], 6 * i + j);
        }
        MPI_Type_free(&type);
    }
    return finish();
}
