/* ranks: 2 3 4 */
/* MPI 5.0 section 6.9.2: sum, product, minimum and maximum on the floating types; sum and product on complex; logical
 * operations on bool; bitwise ones on bytes. The values are small powers of two and small whole numbers, so the order
 * of rounding cannot show. */
#include "check.h"
#include <complex.h>
#include <stdbool.h>

#define REAL(type, mpi)                                                                      \
    do {                                                                                     \
        type in = (type)(world_rank + 1), out = 0, sum = 0, product = 1;                     \
        for (int r = 1; r <= world_size; r++) {                                              \
            sum += r;                                                                        \
            product *= r;                                                                    \
        }                                                                                    \
        MPI_Allreduce(&in, &out, 1, mpi, MPI_SUM, MPI_COMM_WORLD);                           \
        CHECK(out == sum);                                                                   \
        MPI_Allreduce(&in, &out, 1, mpi, MPI_PROD, MPI_COMM_WORLD);                          \
        CHECK(out == product);                                                               \
        MPI_Allreduce(&in, &out, 1, mpi, MPI_MIN, MPI_COMM_WORLD);                           \
        CHECK(out == 1);                                                                     \
        in = -in;                                                                            \
        MPI_Allreduce(&in, &out, 1, mpi, MPI_MAX, MPI_COMM_WORLD);                           \
        CHECK(out == -1);                                                                    \
    } while (0)

#define COMPLEX(type, mpi)                                                                   \
    do {                                                                                     \
        type in = (world_rank + 1) + 1 * I, out = 0, sum = 0, product = 1;                   \
        for (int r = 1; r <= world_size; r++) {                                              \
            sum += r + 1 * I;                                                                \
            product *= r + 1 * I;                                                            \
        }                                                                                    \
        MPI_Allreduce(&in, &out, 1, mpi, MPI_SUM, MPI_COMM_WORLD);                           \
        CHECK(out == sum);                                                                   \
        MPI_Allreduce(&in, &out, 1, mpi, MPI_PROD, MPI_COMM_WORLD);                          \
        CHECK(out == product);                                                               \
    } while (0)

int main(int argc, char **argv)
{
    start(&argc, &argv);
    REAL(float, MPI_FLOAT);
    REAL(double, MPI_DOUBLE);
    REAL(long double, MPI_LONG_DOUBLE);
    COMPLEX(float complex, MPI_C_FLOAT_COMPLEX);
    COMPLEX(double complex, MPI_C_DOUBLE_COMPLEX);
    COMPLEX(long double complex, MPI_C_LONG_DOUBLE_COMPLEX);
    bool in = world_rank == 0, out = false;
    MPI_Allreduce(&in, &out, 1, MPI_C_BOOL, MPI_LAND, MPI_COMM_WORLD);
    CHECK_INT(out, 0);
    MPI_Allreduce(&in, &out, 1, MPI_C_BOOL, MPI_LOR, MPI_COMM_WORLD);
    CHECK_INT(out, 1);
    MPI_Allreduce(&in, &out, 1, MPI_C_BOOL, MPI_LXOR, MPI_COMM_WORLD);
    CHECK_INT(out, 1);
    unsigned char byte = (unsigned char)(1 << world_rank), bytes = 0;
    MPI_Allreduce(&byte, &bytes, 1, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    CHECK_INT(bytes, (1 << world_size) - 1);
    MPI_Allreduce(&byte, &bytes, 1, MPI_BYTE, MPI_BAND, MPI_COMM_WORLD);
    CHECK_INT(bytes, 0);
    return finish();
}
