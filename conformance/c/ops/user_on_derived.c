/* ranks: 2 3 */
/* MPI 5.0 section 6.9.5: a user operation gets the datatype handle it was called with and buffers laid out as that type
 * says, gaps included; a struct with padding is reduced field by field. */
#include "check.h"
#include <stddef.h>

struct item { double sum; char gap; int greatest; };
static MPI_Datatype item_type;

static void merge(void *in, void *inout, int *length, MPI_Datatype *type)
{
    struct item *a = in, *b = inout;
    (void)type;
    for (int i = 0; i < *length; i++) {
        b[i].sum += a[i].sum;
        if (a[i].greatest > b[i].greatest) b[i].greatest = a[i].greatest;
    }
}

int main(int argc, char **argv)
{
    struct item in[10], out[10];
    MPI_Datatype raw;
    MPI_Op op;
    start(&argc, &argv);
    MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){offsetof(struct item, sum), offsetof(struct item, greatest)},
                           (MPI_Datatype[]){MPI_DOUBLE, MPI_INT}, &raw);
    MPI_Type_create_resized(raw, 0, sizeof(struct item), &item_type);
    MPI_Type_commit(&item_type);
    MPI_Op_create(merge, 1, &op);
    memset(out, 0, sizeof out);
    for (int i = 0; i < 10; i++) {
        in[i].sum = world_rank + i;
        in[i].gap = 'x';
        in[i].greatest = 100 * i + world_rank;
    }
    CHECK_CALL(MPI_Allreduce(in, out, 10, item_type, op, MPI_COMM_WORLD));
    for (int i = 0; i < 10; i++) {
        CHECK_DOUBLE(out[i].sum, world_size * (world_size - 1) / 2 + i * world_size);
        CHECK_INT(out[i].greatest, 100 * i + world_size - 1);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&item_type);
    MPI_Type_free(&raw);
    return finish();
}
