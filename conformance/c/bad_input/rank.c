/* ranks: 1 2 */
/* MPI 5.0 sections 3.2.3 and 9.4: ranks run from 0 to size - 1; others are MPI_ERR_RANK, also MPI_ANY_SOURCE as a
 * destination, and in groups and topologies. */
#include "check.h"

int main(int argc, char **argv)
{
    int data = 0, coords[1];
    MPI_Group world, group;
    MPI_Comm cart;
    MPI_Request request;
    start(&argc, &argv);
    errors_return();
    CHECK_CLASS(MPI_Send(&data, 1, MPI_INT, world_size, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Send(&data, 1, MPI_INT, -7, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Send(&data, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Isend(&data, 1, MPI_INT, world_size + 100, 0, MPI_COMM_WORLD, &request), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Recv(&data, 1, MPI_INT, world_size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Probe(world_size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_RANK);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    CHECK_CLASS(MPI_Group_incl(world, 1, &world_size, &group), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Group_translate_ranks(world, 1, &world_size, world, &data), MPI_ERR_RANK);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &world_size, (int[]){0}, 0, &cart);
    MPI_Comm_set_errhandler(cart, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Cart_coords(cart, world_size, 1, coords), MPI_ERR_RANK);
    MPI_Comm_free(&cart);
    MPI_Group_free(&world);
    return finish();
}
