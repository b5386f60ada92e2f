/* ranks: 1 */
/* MPI 5.0 sections 6.9.2 and 9.4: MPI_OP_NULL, an operation that is not defined for the type (bitwise on doubles,
 * arithmetic on bytes, MPI_MINLOC on ints, a predefined one on a derived type), and freeing a predefined operation are
 * MPI_ERR_OP. */
#include "check.h"

int main(int argc, char **argv)
{
    double real = 1, out = 0;
    int number = 1, sum = 0;
    MPI_Op none = MPI_OP_NULL, predefined = MPI_SUM;
    MPI_Datatype pair;
    start(&argc, &argv);
    errors_return();
    MPI_Type_contiguous(1, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    CHECK_CLASS(MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD), MPI_ERR_OP);
    CHECK_CLASS(MPI_Allreduce(&real, &out, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD), MPI_ERR_OP);
    CHECK_CLASS(MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_MINLOC, MPI_COMM_WORLD), MPI_ERR_OP);
    CHECK_CLASS(MPI_Allreduce(&number, &sum, 4, MPI_BYTE, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_OP);
    CHECK_CLASS(MPI_Allreduce(&number, &sum, 1, pair, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_OP);
    CHECK_CLASS(MPI_Reduce(&real, &out, 1, MPI_DOUBLE, MPI_LXOR, 0, MPI_COMM_WORLD), MPI_ERR_OP);
    CHECK_CLASS(MPI_Reduce_local(&real, &out, 1, MPI_DOUBLE, MPI_BXOR), MPI_ERR_OP);
    CHECK_CLASS(MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_REPLACE, MPI_COMM_WORLD), MPI_ERR_OP);
    CHECK_CLASS(MPI_Op_free(&none), MPI_ERR_OP);
    CHECK_CLASS(MPI_Op_free(&predefined), MPI_ERR_OP);
    CHECK_CALL(MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_BAND, MPI_COMM_WORLD));
    MPI_Type_free(&pair);
    return finish();
}
