/* ranks: 2 3 */
/* MPI 5.0 section 7.4.2: MPI_Comm_idup starts the duplication; the new communicator may be used once the request is
 * complete. Two duplications may be in flight, with other communication between them. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Comm first, second;
    MPI_Request requests[2];
    int sum = -1, result = -1;
    start(&argc, &argv);
    CHECK_CALL(MPI_Comm_idup(MPI_COMM_WORLD, &first, &requests[0]));
    MPI_Allreduce(&world_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_CALL(MPI_Comm_idup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &second, &requests[1]));
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK_INT(sum, world_size * (world_size - 1) / 2);
    MPI_Comm_compare(first, second, &result);
    CHECK_INT(result, MPI_CONGRUENT);
    MPI_Allreduce(&world_rank, &sum, 1, MPI_INT, MPI_MAX, first);
    CHECK_INT(sum, world_size - 1);
    MPI_Allreduce(&world_rank, &sum, 1, MPI_INT, MPI_MIN, second);
    CHECK_INT(sum, 0);
    MPI_Comm_free(&first);
    MPI_Comm_free(&second);
    return finish();
}
