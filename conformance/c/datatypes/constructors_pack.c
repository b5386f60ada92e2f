/* ranks: 1 */
/* MPI 5.0 section 5.1.2: the type map of each constructor, read off by packing an array in which element i has value i.
 * MPI_Pack of homogeneous ints yields the elements in type-map order, and unpacking as MPI_INT gives them back. */
#include "check.h"

static int array[100];

static void map(const char *name, MPI_Datatype type, int length, const int *wanted)
{
    char packed[1000];
    int in[100], position = 0, size = -1;
    MPI_Type_commit(&type);
    MPI_Type_size(type, &size);
    CHECK_INT(size, length * (int)sizeof(int));
    CHECK_CALL(MPI_Pack(&array[10], 1, type, packed, sizeof packed, &position, MPI_COMM_SELF));
    int end = position;
    position = 0;
    CHECK_CALL(MPI_Unpack(packed, end, &position, in, length, MPI_INT, MPI_COMM_SELF));
    for (int i = 0; i < length; i++) {
        if (in[i] != wanted[i]) {
            printf("%s: element %d is %d, wanted %d\n", name, i, in[i], wanted[i]);
            check_failures++;
        }
    }
    MPI_Type_free(&type);
}
#define MAP(type, ...) map(#type, type, sizeof((int[]){__VA_ARGS__}) / sizeof(int), (int[]){__VA_ARGS__})

int main(int argc, char **argv)
{
    MPI_Datatype contiguous, vector, negative, hvector, indexed, hindexed, block, hblock, structure, nested, resized, twice;
    int lengths[3] = {2, 0, 1}, places[3] = {4, 0, 1};
    MPI_Aint bytes[3] = {16, 0, 4}, two[2] = {8, -4};
    start(&argc, &argv);
    for (int i = 0; i < 100; i++) array[i] = i;
    MPI_Type_contiguous(3, MPI_INT, &contiguous);
    MAP(contiguous, 10, 11, 12);
    MPI_Type_vector(3, 2, 4, MPI_INT, &vector);
    MAP(vector, 10, 11, 14, 15, 18, 19);
    MPI_Type_vector(3, 1, -3, MPI_INT, &negative);
    MAP(negative, 10, 7, 4);
    MPI_Type_create_hvector(2, 2, 20, MPI_INT, &hvector);
    MAP(hvector, 10, 11, 15, 16);
    MPI_Type_indexed(3, lengths, places, MPI_INT, &indexed);
    MAP(indexed, 14, 15, 11);
    MPI_Type_create_hindexed(3, lengths, bytes, MPI_INT, &hindexed);
    MAP(hindexed, 14, 15, 11);
    MPI_Type_create_indexed_block(3, 2, places, MPI_INT, &block);
    MAP(block, 14, 15, 10, 11, 11, 12);
    MPI_Type_create_hindexed_block(2, 1, two, MPI_INT, &hblock);
    MAP(hblock, 12, 9);
    MPI_Datatype kinds[3] = {MPI_INT, MPI_DOUBLE, MPI_INT};
    MPI_Type_create_struct(3, lengths, bytes, kinds, &structure);
    MAP(structure, 14, 15, 11);
    MPI_Type_vector(2, 1, 2, MPI_INT, &twice);
    MPI_Type_create_resized(twice, 0, 20, &resized);
    MPI_Type_contiguous(3, resized, &nested);
    MAP(nested, 10, 12, 15, 17, 20, 22);
    MPI_Type_free(&twice);
    MPI_Type_free(&resized);
    return finish();
}
