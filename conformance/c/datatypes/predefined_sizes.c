/* ranks: 1 */
/* MPI 5.0 section 3.2.2: each predefined datatype corresponds to a C type, so MPI_Type_size, lower bound 0 and extent
 * are those of sizeof. */
#include "check.h"
#include <complex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

static void same(MPI_Datatype type, const char *name, size_t bytes)
{
    int size = -1, length;
    MPI_Aint lower = -1, extent = -1;
    char text[MPI_MAX_OBJECT_NAME];
    MPI_Type_size(type, &size);
    MPI_Type_get_extent(type, &lower, &extent);
    MPI_Type_get_name(type, text, &length);
    CHECK_INT(size, bytes);
    CHECK_INT(lower, 0);
    CHECK_INT(extent, bytes);
    CHECK_STRING(text, name);
}
#define SAME(type, c) same(type, #type, sizeof(c))

int main(int argc, char **argv)
{
    int size = -1;
    start(&argc, &argv);
    SAME(MPI_CHAR, char);
    SAME(MPI_SIGNED_CHAR, signed char);
    SAME(MPI_UNSIGNED_CHAR, unsigned char);
    SAME(MPI_SHORT, short);
    SAME(MPI_UNSIGNED_SHORT, unsigned short);
    SAME(MPI_INT, int);
    SAME(MPI_UNSIGNED, unsigned);
    SAME(MPI_LONG, long);
    SAME(MPI_UNSIGNED_LONG, unsigned long);
    SAME(MPI_UNSIGNED_LONG_LONG, unsigned long long);
    SAME(MPI_FLOAT, float);
    SAME(MPI_DOUBLE, double);
    SAME(MPI_LONG_DOUBLE, long double);
    SAME(MPI_WCHAR, wchar_t);
    SAME(MPI_C_BOOL, bool);
    SAME(MPI_INT8_T, int8_t);
    SAME(MPI_INT16_T, int16_t);
    SAME(MPI_INT32_T, int32_t);
    SAME(MPI_INT64_T, int64_t);
    SAME(MPI_UINT8_T, uint8_t);
    SAME(MPI_UINT16_T, uint16_t);
    SAME(MPI_UINT32_T, uint32_t);
    SAME(MPI_UINT64_T, uint64_t);
    SAME(MPI_AINT, MPI_Aint);
    SAME(MPI_COUNT, MPI_Count);
    SAME(MPI_OFFSET, MPI_Offset);
    SAME(MPI_C_DOUBLE_COMPLEX, double complex);
    SAME(MPI_C_LONG_DOUBLE_COMPLEX, long double complex);
    SAME(MPI_BYTE, char);
    SAME(MPI_PACKED, char);
    MPI_Type_size(MPI_C_COMPLEX, &size);
    CHECK_INT(size, sizeof(float complex));
    MPI_Type_size(MPI_LONG_LONG_INT, &size);
    CHECK_INT(size, sizeof(long long));
    return finish();
}
