/* ranks: 4 */
/* MPI 5.0 section 7.3.2: union lists the first group and then what only the second has; intersection and difference
 * keep the order of the first group. Results without members are MPI_GROUP_EMPTY. */
#include "check.h"

static void members(int line, MPI_Group group, int length, const int *wanted)
{
    MPI_Group world;
    int size = -1, in[4], out[4];
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_size(group, &size);
    check_int(line, "size", size, length);
    for (int i = 0; i < length; i++) in[i] = i;
    MPI_Group_translate_ranks(group, length, in, world, out);
    for (int i = 0; i < length; i++) check_int(line, "member", out[i], wanted[i]);
    MPI_Group_free(&world);
}

int main(int argc, char **argv)
{
    MPI_Group world, left, right, result;
    start(&argc, &argv);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 3, (int[]){3, 0, 1}, &left);
    MPI_Group_incl(world, 3, (int[]){2, 1, 3}, &right);
    members(__LINE__, left, 3, (int[]){3, 0, 1});
    MPI_Group_union(left, right, &result);
    members(__LINE__, result, 4, (int[]){3, 0, 1, 2});
    MPI_Group_free(&result);
    MPI_Group_intersection(left, right, &result);
    members(__LINE__, result, 2, (int[]){3, 1});
    MPI_Group_free(&result);
    MPI_Group_difference(left, right, &result);
    members(__LINE__, result, 1, (int[]){0});
    MPI_Group_free(&result);
    MPI_Group_difference(left, left, &result);
    CHECK(result == MPI_GROUP_EMPTY);
    MPI_Group_excl(world, 2, (int[]){1, 2}, &result);
    members(__LINE__, result, 2, (int[]){0, 3});
    MPI_Group_free(&result);
    MPI_Group_excl(world, 0, NULL, &result);
    members(__LINE__, result, 4, (int[]){0, 1, 2, 3});
    MPI_Group_free(&result);
    MPI_Group_incl(world, 0, NULL, &result);
    CHECK(result == MPI_GROUP_EMPTY);
    MPI_Group_free(&left);
    MPI_Group_free(&right);
    MPI_Group_free(&world);
    CHECK(world == MPI_GROUP_NULL);
    return finish();
}
