/* ranks: 1 2 3 4 */
/* MPI 5.0 section 6.11: rank r gets the reduction of ranks 0..r (scan) or 0..r-1 (exscan). The exscan result of rank 0
 * is undefined and not looked at. In place too. */
#include "check.h"

int main(int argc, char **argv)
{
    int in[3], out[3];
    start(&argc, &argv);
    int r = world_rank, inclusive = r * (r + 1) / 2, exclusive = r * (r - 1) / 2;
    for (int i = 0; i < 3; i++) in[i] = world_rank + 10 * i;
    CHECK_CALL(MPI_Scan(in, out, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    for (int i = 0; i < 3; i++) CHECK_INT(out[i], inclusive + 10 * i * (r + 1));
    CHECK_CALL(MPI_Exscan(in, out, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    if (r > 0)
        for (int i = 0; i < 3; i++) CHECK_INT(out[i], exclusive + 10 * i * r);
    memcpy(out, in, sizeof in);
    CHECK_CALL(MPI_Exscan(MPI_IN_PLACE, out, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    if (r > 0)
        for (int i = 0; i < 3; i++) CHECK_INT(out[i], exclusive + 10 * i * r);
    CHECK_CALL(MPI_Scan(MPI_IN_PLACE, in, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    for (int i = 0; i < 3; i++) CHECK_INT(in[i], inclusive + 10 * i * (r + 1));
    return finish();
}
