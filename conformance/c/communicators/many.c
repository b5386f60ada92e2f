/* ranks: 2 */
/* MPI 5.0 section 7.4: contexts are a resource that comes back; making and freeing many communicators, many of them
 * alive at once, works. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Comm comms[100], comm;
    int sum = -1;
    start(&argc, &argv);
    for (int i = 0; i < 100; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < 100; i += 33) {
        MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, comms[i]);
        CHECK_INT(sum, i * world_size);
    }
    for (int i = 0; i < 100; i++) MPI_Comm_free(&comms[i]);
    for (int i = 0; i < 3000; i++) {
        CHECK_CALL(MPI_Comm_dup(MPI_COMM_SELF, &comm));
        MPI_Comm_free(&comm);
    }
    return finish();
}
