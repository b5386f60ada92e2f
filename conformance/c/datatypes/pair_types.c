/* ranks: 1 */
/* MPI 5.0 section 6.9.4: a pair type such as MPI_DOUBLE_INT is as if made by MPI_Type_create_struct for a C struct of
 * value and int: the size is the sum of both, the extent that of the struct. MPI_2INT is two ints. */
#include "check.h"
#include <stddef.h>

#define PAIR(type, c)                                          \
    do {                                                       \
        struct pair { c value; int index; };                   \
        int size = -1;                                         \
        MPI_Aint lower = -1, extent = -1;                      \
        MPI_Type_size(type, &size);                            \
        MPI_Type_get_extent(type, &lower, &extent);            \
        CHECK_INT(size, sizeof(c) + sizeof(int));              \
        CHECK_INT(lower, 0);                                   \
        CHECK_INT(extent, sizeof(struct pair));                \
        MPI_Type_get_true_extent(type, &lower, &extent);       \
        CHECK_INT(lower, 0);                                   \
        CHECK_INT(extent, offsetof(struct pair, index) + sizeof(int)); \
    } while (0)

int main(int argc, char **argv)
{
    start(&argc, &argv);
    PAIR(MPI_FLOAT_INT, float);
    PAIR(MPI_DOUBLE_INT, double);
    PAIR(MPI_LONG_INT, long);
    PAIR(MPI_SHORT_INT, short);
    PAIR(MPI_2INT, int);
    PAIR(MPI_LONG_DOUBLE_INT, long double);
    return finish();
}
