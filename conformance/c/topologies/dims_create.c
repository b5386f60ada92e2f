/* ranks: 1 */
/* MPI 5.0 section 8.5.2, with the examples of its table: zeros are filled so that the product is nnodes, as close to
 * each other as possible and in non-increasing order; what is not zero stays. (0,0) of 6 is (3,2), of 7 (7,1); (0,3,0)
 * of 6 is (2,3,1); of 7 an error. */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    errors_return();
    int a[2] = {0, 0}, b[2] = {0, 0}, c[3] = {0, 3, 0}, d[3] = {0, 3, 0}, e[3] = {0, 0, 0}, f[2] = {0, 0}, g[1] = {0};
    CHECK_CALL(MPI_Dims_create(6, 2, a));
    CHECK_BYTES(a, ((int[]){3, 2}), sizeof a);
    CHECK_CALL(MPI_Dims_create(7, 2, b));
    CHECK_BYTES(b, ((int[]){7, 1}), sizeof b);
    CHECK_CALL(MPI_Dims_create(6, 3, c));
    CHECK_BYTES(c, ((int[]){2, 3, 1}), sizeof c);
    CHECK(MPI_Dims_create(7, 3, d) != MPI_SUCCESS);
    CHECK_CALL(MPI_Dims_create(64, 3, e));
    CHECK_BYTES(e, ((int[]){4, 4, 4}), sizeof e);
    CHECK_CALL(MPI_Dims_create(36, 2, f));
    CHECK_BYTES(f, ((int[]){6, 6}), sizeof f);
    CHECK_CALL(MPI_Dims_create(12, 1, g));
    CHECK_INT(g[0], 12);
    return finish();
}
