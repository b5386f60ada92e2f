/* ranks: 2 */
/* MPI 5.0 section 9.2: memory from MPI_Alloc_mem is ordinary memory that any communication may use; the info key
 * mpi_minimum_memory_alignment asks for an alignment in bytes. MPI_Free_mem takes the base pointer. */
#include "check.h"

int main(int argc, char **argv)
{
    double *memory = NULL;
    MPI_Info info;
    start(&argc, &argv);
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_minimum_memory_alignment", "4096");
    CHECK_CALL(MPI_Alloc_mem(100000 * sizeof(double), info, &memory));
    MPI_Info_free(&info);
    CHECK_INT((size_t)memory % 4096, 0);
    for (int i = 0; i < 100000; i++) memory[i] = world_rank == 0 ? i : -1;
    MPI_Bcast(memory, 100000, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 100000; i += 999) CHECK_DOUBLE(memory[i], i);
    CHECK_CALL(MPI_Free_mem(memory));
    CHECK_CALL(MPI_Alloc_mem(64, MPI_INFO_NULL, &memory));
    CHECK(memory != NULL);
    CHECK_CALL(MPI_Free_mem(memory));
    return finish();
}
