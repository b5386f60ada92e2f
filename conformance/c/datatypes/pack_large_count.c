/* ranks: 1 */
/* MPI 5.0 section 5.2: the _c forms of packing take sizes and positions as MPI_Count and give the same bytes as the int forms.
 * The position is where the next piece goes; packing nothing moves it nowhere. */
#include "check.h"

int main(int argc, char **argv)
{
    int data[4] = {1, 2, 3, 4}, in[4] = {0}, place = 0;
    char first[64], second[64];
    MPI_Count position = 0, bound = -1;
    start(&argc, &argv);
    CHECK_CALL(MPI_Pack_c(data, 0, MPI_INT, first, sizeof first, &position, MPI_COMM_SELF));
    CHECK_INT(position, 0);
    CHECK_CALL(MPI_Pack_c(data, 4, MPI_INT, first, sizeof first, &position, MPI_COMM_SELF));
    CHECK_CALL(MPI_Pack(data, 4, MPI_INT, second, sizeof second, &place, MPI_COMM_SELF));
    CHECK_INT(position, place);
    CHECK_BYTES(first, second, (size_t)place);
    CHECK_CALL(MPI_Pack_size_c((MPI_Count)1 << 32, MPI_INT, MPI_COMM_SELF, &bound));
    CHECK(bound >= (MPI_Count)4 << 32);
    position = 0;
    CHECK_CALL(MPI_Unpack_c(first, place, &position, in, 4, MPI_INT, MPI_COMM_SELF));
    CHECK_BYTES(in, data, sizeof data);
    position = 0;
    CHECK_CALL(MPI_Pack_external_c("external32", data, 2, MPI_INT, first, sizeof first, &position));
    CHECK_INT(position, 8);
    CHECK_BYTES(first, "\0\0\0\1\0\0\0\2", 8);
    return finish();
}
