/* ranks: 1 */
/* MPI 5.0 sections 5.3 and 14.5.2: external32 is big-endian, IEEE, without padding: a char 1 byte, short 2, int 4,
 * float 4, double 8, int64_t 8. The bytes below are written out by hand: 1.5f is 3fc00000, -2.0 is c000000000000000. */
#include "check.h"
#include <stdint.h>

int main(int argc, char **argv)
{
    static const unsigned char golden[] = {0x12, 0x34, 0x56, 0x78, 0xff, 0xfe, 'M', 0x3f, 0xc0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0,
                                           1,    2,    3,    4,    5,    6,    7,   8};
    unsigned char packed[64];
    int number = 0x12345678, in = 0;
    short small = -2, small_in = 0;
    char letter = 'M', letter_in = 0;
    float single = 1.5f, single_in = 0;
    double real = -2.0, real_in = 0;
    int64_t wide = 0x0102030405060708, wide_in = 0;
    MPI_Aint position = 0, size = 0;
    start(&argc, &argv);
    memset(packed, 0xEE, sizeof packed);
    CHECK_CALL(MPI_Pack_external("external32", &number, 1, MPI_INT, packed, sizeof packed, &position));
    CHECK_CALL(MPI_Pack_external("external32", &small, 1, MPI_SHORT, packed, sizeof packed, &position));
    CHECK_CALL(MPI_Pack_external("external32", &letter, 1, MPI_CHAR, packed, sizeof packed, &position));
    CHECK_CALL(MPI_Pack_external("external32", &single, 1, MPI_FLOAT, packed, sizeof packed, &position));
    CHECK_CALL(MPI_Pack_external("external32", &real, 1, MPI_DOUBLE, packed, sizeof packed, &position));
    CHECK_CALL(MPI_Pack_external("external32", &wide, 1, MPI_INT64_T, packed, sizeof packed, &position));
    CHECK_INT(position, sizeof golden);
    CHECK_BYTES(packed, golden, sizeof golden);
    CHECK_INT(packed[sizeof golden], 0xEE);
    MPI_Pack_external_size("external32", 3, MPI_DOUBLE, &size);
    CHECK_INT(size, 24);
    MPI_Pack_external_size("external32", 2, MPI_INT, &size);
    CHECK_INT(size, 8);

    position = 0;
    MPI_Unpack_external("external32", golden, sizeof golden, &position, &in, 1, MPI_INT);
    MPI_Unpack_external("external32", golden, sizeof golden, &position, &small_in, 1, MPI_SHORT);
    MPI_Unpack_external("external32", golden, sizeof golden, &position, &letter_in, 1, MPI_CHAR);
    MPI_Unpack_external("external32", golden, sizeof golden, &position, &single_in, 1, MPI_FLOAT);
    MPI_Unpack_external("external32", golden, sizeof golden, &position, &real_in, 1, MPI_DOUBLE);
    MPI_Unpack_external("external32", golden, sizeof golden, &position, &wide_in, 1, MPI_INT64_T);
    CHECK_INT(position, sizeof golden);
    CHECK_INT(in, number);
    CHECK_INT(small_in, small);
    CHECK_INT(letter_in, letter);
    CHECK_DOUBLE(single_in, single);
    CHECK_DOUBLE(real_in, real);
    CHECK_INT(wide_in, wide);
    return finish();
}
