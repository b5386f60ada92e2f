/* ranks: 1 2 */
/* skip-mpich: its limit is another */
/* MPI 5.0 section 9.4 and 7.4.2: a library may have limits; a call beyond one is an error that says so, and ends neither
 * the program nor what exists. OxMPI's limit is 16384 communicators for a process that leads them, the two predefined
 * ones included; what is freed can be made again. */
#include "check.h"

#define LIMIT 16384

int main(int argc, char **argv)
{
    static MPI_Comm all[LIMIT];
    int made = 0, code = MPI_SUCCESS, sum = 0;
    start(&argc, &argv);
    errors_return();
    while (made < LIMIT) {
        code = MPI_Comm_dup(MPI_COMM_WORLD, &all[made]);
        if (code != MPI_SUCCESS) break;
        made++;
    }
    CHECK_INT(made, LIMIT - 2);
    CHECK_CLASS(code, MPI_ERR_OTHER);
    CHECK_CALL(MPI_Allreduce(&made, &sum, 1, MPI_INT, MPI_SUM, all[made - 1]));
    CHECK_INT(sum, made * world_size);
    CHECK_CALL(MPI_Comm_free(&all[7]));
    CHECK_CALL(MPI_Comm_dup(MPI_COMM_WORLD, &all[7]));
    for (int i = 0; i < made; i++) CHECK_CALL(MPI_Comm_free(&all[i]));
    return finish();
}
