/* ranks: 1 2 */
/* MPI 5.0 section 11.8: a process that was not spawned gets MPI_COMM_NULL from MPI_Comm_get_parent. Section 15.3: the
 * tools interface is initialised on its own, before MPI_Init and as often as one likes, each time undone by
 * MPI_T_finalize. */
#include "check.h"

int main(int argc, char **argv)
{
    int provided = -1;
    MPI_Comm parent = MPI_COMM_WORLD;
    CHECK_INT(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    CHECK(provided >= MPI_THREAD_SINGLE && provided <= MPI_THREAD_MULTIPLE);
    start(&argc, &argv);
    CHECK_INT(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    CHECK_CALL(MPI_Comm_get_parent(&parent));
    CHECK(parent == MPI_COMM_NULL);
    CHECK_INT(MPI_T_finalize(), MPI_SUCCESS);
    CHECK_INT(MPI_T_finalize(), MPI_SUCCESS);
    return finish();
}
