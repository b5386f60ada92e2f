/* ranks: 1 */
/* MPI 5.0 chapter 20 (ABI): MPI_Abi_get_version reports the ABI that the library implements, and it is callable before
 * MPI_Init. MPI_Abi_get_info gives the sizes of MPI_Aint, MPI_Count and MPI_Offset as decimal strings. */
#include "check.h"

static void size_key(MPI_Info info, const char *key, size_t bytes)
{
    char value[32] = "";
    int room = sizeof value, flag = 0;
    MPI_Info_get_string(info, key, &room, value, &flag);
    CHECK_INT(flag, 1);
    CHECK_INT(atoi(value), bytes);
}

int main(int argc, char **argv)
{
    int major = -1, minor = -1;
    CHECK_INT(MPI_Abi_get_version(&major, &minor), MPI_SUCCESS);
    CHECK_INT(major, MPI_ABI_VERSION);
    CHECK_INT(minor, MPI_ABI_SUBVERSION);
    start(&argc, &argv);
    MPI_Info info;
    CHECK_INT(MPI_Abi_get_info(&info), MPI_SUCCESS);
    size_key(info, "mpi_aint_size", sizeof(MPI_Aint));
    size_key(info, "mpi_count_size", sizeof(MPI_Count));
    size_key(info, "mpi_offset_size", sizeof(MPI_Offset));
    MPI_Info_free(&info);
    return finish();
}
