/* ranks: 2 3 4 */
/* MPI 5.0 section 6.9.5: a user operation with commute = 0 is applied in rank order (associativity is all the library
 * may use). 2x2 integer matrices do not commute; the product of (r + 1, 1; 0, 1) in rank order is computed by hand
 * beside it. */
#include "check.h"

static void multiply(void *left, void *right, int *length, MPI_Datatype *type)
{
    long *a = left, *b = right;
    (void)type;
    for (int i = 0; i < *length; i++, a += 4, b += 4) {
        long c[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
        memcpy(b, c, sizeof c);
    }
}

int main(int argc, char **argv)
{
    enum { COUNT = 50 };
    long in[COUNT][4], out[COUNT][4], wanted[4], prefix[4];
    MPI_Datatype matrix;
    MPI_Op op;
    int commutes = -1;
    start(&argc, &argv);
    MPI_Type_contiguous(4, MPI_LONG, &matrix);
    MPI_Type_commit(&matrix);
    MPI_Op_create(multiply, 0, &op);
    MPI_Op_commutative(op, &commutes);
    CHECK_INT(commutes, 0);
    MPI_Op_commutative(MPI_SUM, &commutes);
    CHECK_INT(commutes, 1);
    for (int i = 0; i < COUNT; i++) {
        in[i][0] = world_rank + 1;
        in[i][1] = 1;
        in[i][2] = 0;
        in[i][3] = 1;
    }
    for (int r = 0; r < world_size; r++) {
        long next[4] = {r + 1, 1, 0, 1};
        if (r == 0) {
            memcpy(wanted, next, sizeof next);
        } else {
            multiply(wanted, next, &(int){1}, NULL);
            memcpy(wanted, next, sizeof next);
        }
        if (r == world_rank) memcpy(prefix, wanted, sizeof prefix);
    }
    CHECK_CALL(MPI_Allreduce(in, out, COUNT, matrix, op, MPI_COMM_WORLD));
    for (int i = 0; i < COUNT; i++) CHECK_BYTES(out[i], wanted, sizeof wanted);
    for (int root = 0; root < world_size; root++) {
        memset(out, 0, sizeof out);
        CHECK_CALL(MPI_Reduce(in, out, COUNT, matrix, op, root, MPI_COMM_WORLD));
        if (world_rank == root) CHECK_BYTES(out[COUNT - 1], wanted, sizeof wanted);
    }
    CHECK_CALL(MPI_Scan(in, out, COUNT, matrix, op, MPI_COMM_WORLD));
    CHECK_BYTES(out[COUNT - 1], prefix, sizeof prefix);
    MPI_Op_free(&op);
    CHECK(op == MPI_OP_NULL);
    MPI_Type_free(&matrix);
    return finish();
}
