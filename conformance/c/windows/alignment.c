/* ranks: 1 2 4 */
/* skip-mpich: it does not know the key for windows; hints may be ignored */
/* MPI 5.0 sections 9.2 and 12.2: with mpi_minimum_memory_alignment the memory that is allocated
 * begins at a multiple of that many bytes; so do segments of a shared window that lie apart. */
#include "check.h"
#include <stdint.h>

int main(int argc, char **argv)
{
    MPI_Comm host;
    MPI_Info info;
    MPI_Win win;
    char *base;
    start(&argc, &argv);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_minimum_memory_alignment", "256");
    MPI_Info_set(info, "alloc_shared_noncontig", "true");
    for (int size = 1; size < 100000; size = 7 * size + 3) {
        CHECK_CALL(MPI_Alloc_mem(size, info, &base));
        CHECK_INT((uintptr_t)base % 256, 0);
        memset(base, 1, (size_t)size);
        MPI_Free_mem(base);
        CHECK_CALL(MPI_Win_allocate(size, 1, info, MPI_COMM_WORLD, &base, &win));
        CHECK_INT((uintptr_t)base % 256, 0);
        memset(base, 1, (size_t)size);
        MPI_Win_free(&win);
        CHECK_CALL(MPI_Win_allocate_shared(size, 1, info, host, &base, &win));
        CHECK_INT((uintptr_t)base % 256, 0);
        memset(base, 1, (size_t)size);
        MPI_Win_free(&win);
    }
    MPI_Info_free(&info);
    MPI_Comm_free(&host);
    return finish();
}
