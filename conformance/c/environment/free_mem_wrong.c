/* ranks: 1 */
/* skip-mpich: it hands the address to the C library, which ends the program */
/* MPI 5.0 section 9.2: MPI_Free_mem frees what MPI_Alloc_mem gave; an address that it did not give, or that was freed
 * before, is an invalid base: MPI_ERR_BASE. */
#include "check.h"

int main(int argc, char **argv)
{
    static char own[64];
    const MPI_Aint sizes[2] = {64, 1 << 20};
    char *memory = NULL;
    start(&argc, &argv);
    errors_return();
    for (int i = 0; i < 2; i++) {
        CHECK_CALL(MPI_Alloc_mem(sizes[i], MPI_INFO_NULL, &memory));
        memset(memory, 7, (size_t)sizes[i]);
        CHECK_CLASS(MPI_Free_mem(memory + 8), MPI_ERR_BASE);
        CHECK_CALL(MPI_Free_mem(memory));
        CHECK_CLASS(MPI_Free_mem(memory), MPI_ERR_BASE);
    }
    CHECK_CLASS(MPI_Free_mem(own), MPI_ERR_BASE);
    return finish();
}
