/* ranks: 1 */
/* MPI 5.0 sections 9.4 and 7.4: MPI_COMM_NULL is MPI_ERR_COMM everywhere; the predefined communicators cannot be freed. */
#include "check.h"

int main(int argc, char **argv)
{
    int data = 0, size;
    MPI_Comm none = MPI_COMM_NULL, world = MPI_COMM_WORLD, self = MPI_COMM_SELF, copy;
    MPI_Request request;
    start(&argc, &argv);
    errors_return();
    CHECK_CLASS(MPI_Comm_size(MPI_COMM_NULL, &size), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Comm_rank(MPI_COMM_NULL, &size), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Send(&data, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Irecv(&data, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &request), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Comm_dup(MPI_COMM_NULL, &copy), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Comm_free(&none), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Comm_free(&world), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Comm_free(&self), MPI_ERR_COMM);
    return finish();
}
