/* ranks: 1 */
/* MPI 5.0 section 5.1.13: MPI_Type_get_envelope names the constructor and how many integers, addresses and types it
 * took, MPI_Type_get_contents gives them back in the order of the standard's table. A predefined type has combiner
 * MPI_COMBINER_NAMED and no contents. */
#include "check.h"

static void envelope(int line, MPI_Datatype type, int combiner, int integers, const int *wanted, int addresses,
                     const MPI_Aint *places, int types, MPI_Datatype first)
{
    int got[4], in[20] = {0};
    MPI_Aint at[10] = {0};
    MPI_Datatype kinds[10];
    MPI_Type_get_envelope(type, &got[0], &got[1], &got[2], &got[3]);
    check_int(line, "number of integers", got[0], integers);
    check_int(line, "number of addresses", got[1], addresses);
    check_int(line, "number of types", got[2], types);
    check_int(line, "combiner", got[3], combiner);
    CHECK_CALL(MPI_Type_get_contents(type, 20, 10, 10, in, at, kinds));
    for (int i = 0; i < integers; i++) check_int(line, "integer", in[i], wanted[i]);
    for (int i = 0; i < addresses; i++) check_int(line, "address", at[i], places[i]);
    check_int(line, "first type", kinds[0] == first, 1);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    MPI_Datatype type;
    int a, b, c, combiner = -1, lengths[2] = {2, 3}, places[2] = {4, 0};
    MPI_Aint bytes[2] = {32, 8};
    MPI_Datatype kinds[2] = {MPI_DOUBLE, MPI_INT};
    start(&argc, &argv);
    MPI_Type_get_envelope(MPI_INT, &a, &b, &c, &combiner);
    CHECK_INT(combiner, MPI_COMBINER_NAMED);
    MPI_Type_dup(MPI_INT, &type);
    envelope(__LINE__, type, MPI_COMBINER_DUP, 0, NULL, 0, NULL, 1, MPI_INT);
    MPI_Type_contiguous(5, MPI_FLOAT, &type);
    envelope(__LINE__, type, MPI_COMBINER_CONTIGUOUS, 1, (int[]){5}, 0, NULL, 1, MPI_FLOAT);
    MPI_Type_vector(2, 3, 4, MPI_INT, &type);
    envelope(__LINE__, type, MPI_COMBINER_VECTOR, 3, (int[]){2, 3, 4}, 0, NULL, 1, MPI_INT);
    MPI_Type_create_hvector(2, 3, 40, MPI_INT, &type);
    envelope(__LINE__, type, MPI_COMBINER_HVECTOR, 2, (int[]){2, 3}, 1, (MPI_Aint[]){40}, 1, MPI_INT);
    MPI_Type_indexed(2, lengths, places, MPI_INT, &type);
    envelope(__LINE__, type, MPI_COMBINER_INDEXED, 5, (int[]){2, 2, 3, 4, 0}, 0, NULL, 1, MPI_INT);
    MPI_Type_create_hindexed(2, lengths, bytes, MPI_INT, &type);
    envelope(__LINE__, type, MPI_COMBINER_HINDEXED, 3, (int[]){2, 2, 3}, 2, bytes, 1, MPI_INT);
    MPI_Type_create_indexed_block(2, 7, places, MPI_INT, &type);
    envelope(__LINE__, type, MPI_COMBINER_INDEXED_BLOCK, 4, (int[]){2, 7, 4, 0}, 0, NULL, 1, MPI_INT);
    MPI_Type_create_hindexed_block(2, 7, bytes, MPI_INT, &type);
    envelope(__LINE__, type, MPI_COMBINER_HINDEXED_BLOCK, 2, (int[]){2, 7}, 2, bytes, 1, MPI_INT);
    MPI_Type_create_struct(2, lengths, bytes, kinds, &type);
    envelope(__LINE__, type, MPI_COMBINER_STRUCT, 3, (int[]){2, 2, 3}, 2, bytes, 2, MPI_DOUBLE);
    MPI_Type_create_resized(MPI_INT, -8, 64, &type);
    envelope(__LINE__, type, MPI_COMBINER_RESIZED, 0, NULL, 2, (MPI_Aint[]){-8, 64}, 1, MPI_INT);
    MPI_Type_create_subarray(2, (int[]){6, 7}, (int[]){2, 3}, (int[]){1, 4}, MPI_ORDER_C, MPI_INT, &type);
    envelope(__LINE__, type, MPI_COMBINER_SUBARRAY, 8, (int[]){2, 6, 7, 2, 3, 1, 4, MPI_ORDER_C}, 0, NULL, 1, MPI_INT);
    int block = MPI_DISTRIBUTE_BLOCK, standard = MPI_DISTRIBUTE_DFLT_DARG;
    MPI_Type_create_darray(2, 1, 1, &(int){9}, &block, &standard, &(int){2}, MPI_ORDER_FORTRAN, MPI_INT, &type);
    int arguments[8] = {2, 1, 1, 9, block, standard, 2, MPI_ORDER_FORTRAN};
    envelope(__LINE__, type, MPI_COMBINER_DARRAY, 8, arguments, 0, NULL, 1, MPI_INT);
    return finish();
}
