/* ranks: 4 */
/* MPI 5.0 section 7.4.2: splitting an intercommunicator gives, per colour, one that joins the processes of that colour
 * on both sides; a colour that only one side has gives MPI_COMM_NULL. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Comm half, inter, part;
    int rank = -1, size = -1, remote = -1, sum = -1, in = -1;
    start(&argc, &argv);
    int side = world_rank / 2, local = world_rank % 2;
    MPI_Comm_split(MPI_COMM_WORLD, side, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, side ? 0 : 2, 1, &inter);
    CHECK_CALL(MPI_Comm_split(inter, local, 0, &part));
    MPI_Comm_size(part, &size);
    MPI_Comm_remote_size(part, &remote);
    CHECK_INT(size, 1);
    CHECK_INT(remote, 1);
    MPI_Sendrecv(&world_rank, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, part, MPI_STATUS_IGNORE);
    CHECK_INT(in, (world_rank + 2) % 4);
    MPI_Comm_free(&part);
    /* Colour 7 exists on side 0 only. */
    CHECK_CALL(MPI_Comm_split(inter, side == 0 && local == 1 ? 7 : 3, 0, &part));
    CHECK((part == MPI_COMM_NULL) == (world_rank == 1));
    if (part != MPI_COMM_NULL) {
        MPI_Comm_rank(part, &rank);
        CHECK_INT(rank, side ? local : 0);
        MPI_Allreduce(&world_rank, &sum, 1, MPI_INT, MPI_SUM, part);
        CHECK_INT(sum, side ? 0 : 5);
        MPI_Comm_free(&part);
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    return finish();
}
