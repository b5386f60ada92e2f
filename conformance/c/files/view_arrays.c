/* ranks: 1 2 4 */
/* MPI 5.0 sections 5.1.3, 5.1.4 and 14.3: subarrays and distributed arrays as filetypes, with holes that no rank
 * sees: blocks that do not divide the array, cyclic blocks, both orders, and elements of the etype that have holes
 * themselves. The places are computed here element by element, and a file of another byte shows that holes are left
 * alone. */
#include "file_name.h"

enum { EDGE = 7, HOLE = 0x5a, ALL_MAX = EDGE * EDGE * 5 };

/* An etype of 12 bytes, of which the middle 4 are a hole. */
struct pair { int first, hole, second; };

static struct pair whole[ALL_MAX];

/* Writes and reads the elements at some places, which come in the order of the file. */
static void round_trip(MPI_File file, MPI_Datatype pair, MPI_Datatype view, const int *places, int count, int all)
{
    int data[2 * ALL_MAX], got[2 * ALL_MAX], wrong = 0;
    MPI_Status status;
    if (world_rank == 0) {
        memset(whole, HOLE, sizeof whole);
        CHECK_CALL(MPI_File_write_at(file, 0, whole, all * (int)sizeof whole[0], MPI_BYTE, &status));
    }
    sync_all(file);
    CHECK_CALL(MPI_File_set_view(file, 0, pair, view, "native", MPI_INFO_NULL));
    for (int i = 0; i < 2 * count; i++) data[i] = 10000 * (world_rank + 1) + i;
    CHECK_CALL(MPI_File_write_all(file, data, 2 * count, MPI_INT, &status));
    CHECK_INT(count_of(&status, MPI_INT), 2 * count);
    sync_all(file);
    memset(got, 0, sizeof got);
    CHECK_CALL(MPI_File_read_at_all(file, 0, got, 2 * count, MPI_INT, &status));
    CHECK_BYTES(got, data, 2 * count * sizeof(int));
    memset(got, 0, sizeof got);
    if (count > 1) CHECK_CALL(MPI_File_read_at(file, 1, got, 2 * (count - 1), MPI_INT, &status));
    for (int i = 2; i < 2 * count; i++) wrong += got[i - 2] != data[i];
    view_bytes(file);
    CHECK_CALL(MPI_File_read_at(file, 0, whole, all * (int)sizeof whole[0], MPI_BYTE, &status));
    for (int i = 0; i < count; i++) {
        struct pair *here = &whole[places[i]];
        wrong += here->first != data[2 * i] || here->second != data[2 * i + 1];
    }
    for (int i = 0; i < all; i++) wrong += whole[i].hole != 0x01010101 * HOLE;
    CHECK_INT(wrong, 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Which process of a dimension has an index (MPI 5.0 section 5.1.4). */
static int owner(int index, int size, int how, int argument, int processes)
{
    if (how == MPI_DISTRIBUTE_NONE) return 0;
    if (how == MPI_DISTRIBUTE_CYCLIC) return index / (argument == MPI_DISTRIBUTE_DFLT_DARG ? 1 : argument) % processes;
    return index / (argument == MPI_DISTRIBUTE_DFLT_DARG ? (size + processes - 1) / processes : argument);
}

static void distributed(MPI_File file, MPI_Datatype pair, int order, const int *how, const int *arguments)
{
    int sizes[3] = {EDGE, 5, EDGE}, processes[3] = {world_size >= 4 ? 2 : 1, 1, world_size % 2 == 0 ? 2 : 1};
    int places[ALL_MAX], count = 0, mine[3] = {world_rank / processes[2], 0, world_rank % processes[2]};
    MPI_Datatype view;
    MPI_Type_create_darray(world_size, world_rank, 3, sizes, how, arguments, processes, order, pair, &view);
    MPI_Type_commit(&view);
    for (int place = 0; place < ALL_MAX; place++) {
        int at[3], left = place, is_mine = 1;
        for (int i = 0; i < 3; i++) { /* the dimension that varies fastest first */
            int axis = order == MPI_ORDER_C ? 2 - i : i;
            at[axis] = left % sizes[axis];
            left /= sizes[axis];
        }
        for (int axis = 0; axis < 3; axis++)
            is_mine &= owner(at[axis], sizes[axis], how[axis], arguments[axis], processes[axis]) == mine[axis];
        if (is_mine) places[count++] = place;
    }
    round_trip(file, pair, view, places, count, ALL_MAX);
    MPI_Type_free(&view);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_File file = new_file("view_arrays");
    MPI_Datatype two, pair, view;
    MPI_Type_vector(2, 1, 2, MPI_INT, &two);
    MPI_Type_create_resized(two, 0, sizeof(struct pair), &pair);
    MPI_Type_commit(&pair);
    int dflt = MPI_DISTRIBUTE_DFLT_DARG, none = MPI_DISTRIBUTE_NONE, block = MPI_DISTRIBUTE_BLOCK;
    int cyclic = MPI_DISTRIBUTE_CYCLIC, orders[2] = {MPI_ORDER_C, MPI_ORDER_FORTRAN};
    for (int i = 0; i < 2; i++) {
        distributed(file, pair, orders[i], (int[]){block, none, block}, (int[]){dflt, dflt, dflt});
        distributed(file, pair, orders[i], (int[]){cyclic, none, cyclic}, (int[]){dflt, dflt, 2});
        distributed(file, pair, orders[i], (int[]){block, none, cyclic}, (int[]){world_size >= 4 ? 5 : EDGE, dflt, 3});
        /* A subarray in the middle of an array of EDGE by 5 planes: what lies around it belongs to nobody. */
        int sizes[3] = {EDGE, 5, world_size}, part[3] = {3, 2, 1}, from[3] = {2, 1, world_rank}, places[6], n = 0;
        MPI_Type_create_subarray(3, sizes, part, from, orders[i], pair, &view);
        MPI_Type_commit(&view);
        for (int at = 0; at < 6; at++) { /* x varies fastest in Fortran's order, y in C's */
            int x = from[0] + (i == 0 ? at / 2 : at % 3), y = from[1] + (i == 0 ? at % 2 : at / 3);
            places[n++] = i == 0 ? (x * 5 + y) * world_size + world_rank : (world_rank * 5 + y) * EDGE + x;
        }
        round_trip(file, pair, view, places, n, EDGE * 5 * world_size);
        MPI_Type_free(&view);
    }
    MPI_Type_free(&two);
    MPI_Type_free(&pair);
    CHECK_CALL(MPI_File_close(&file));
    return finish();
}
