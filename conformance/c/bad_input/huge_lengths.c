/* ranks: 1 */
/* skip-mpich: it ends the program where memory is short */
/* MPI 5.0 sections 9.3 and 9.4: an error that a library can find is reported to the error handler; lack of memory is
 * MPI_ERR_NO_MEM. A length that is far too long for the memory there is, as an overflow in the program makes it, is
 * such an error and does not end the program. */
#define _DEFAULT_SOURCE
#include <limits.h>
#include <sys/resource.h>

#include "check.h"

/* No list that long fits into the memory that the program may have. */
#define HUGE_INT INT_MAX
#define HUGE_COUNT ((MPI_Count)1 << 60)

static int ints[64];
static MPI_Count counts[64];
static MPI_Aint aints[64];
static MPI_Datatype types[64];
static MPI_Request requests[64];
static MPI_Status statuses[64];

static void lists_of_requests(void)
{
    int flag, index, count;
    for (int i = 0; i < 64; i++) requests[i] = MPI_REQUEST_NULL;
    CHECK_CLASS(MPI_Waitall(HUGE_INT, requests, MPI_STATUSES_IGNORE), MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Waitany(HUGE_INT, requests, &index, MPI_STATUS_IGNORE), MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Waitsome(HUGE_INT, requests, &count, ints, statuses), MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Testall(HUGE_INT, requests, &flag, statuses), MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Testany(HUGE_INT, requests, &index, &flag, MPI_STATUS_IGNORE), MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Testsome(HUGE_INT, requests, &count, ints, statuses), MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Startall(HUGE_INT, requests), MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Request_get_status_all(HUGE_INT, requests, &flag, statuses), MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Request_get_status_any(HUGE_INT, requests, &index, &flag, statuses), MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Request_get_status_some(HUGE_INT, requests, &count, ints, statuses), MPI_ERR_NO_MEM);
}

static void lists_of_blocks(void)
{
    MPI_Datatype type;
    for (int i = 0; i < 64; i++) types[i] = MPI_INT;
    CHECK_CLASS(MPI_Type_indexed(HUGE_INT, ints, ints, MPI_INT, &type), MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Type_indexed_c(HUGE_COUNT, counts, counts, MPI_INT, &type), MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Type_create_hindexed(HUGE_INT, ints, aints, MPI_INT, &type), MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Type_create_hindexed_c(HUGE_COUNT, counts, counts, MPI_INT, &type), MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Type_create_indexed_block(HUGE_INT, 1, ints, MPI_INT, &type), MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Type_create_indexed_block_c(HUGE_COUNT, 1, counts, MPI_INT, &type), MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Type_create_hindexed_block(HUGE_INT, 1, aints, MPI_INT, &type), MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Type_create_hindexed_block_c(HUGE_COUNT, 1, counts, MPI_INT, &type), MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Type_create_struct(HUGE_INT, ints, aints, types, &type), MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Type_create_struct_c(HUGE_COUNT, counts, counts, types, &type), MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Type_create_subarray(HUGE_INT, ints, ints, ints, MPI_ORDER_C, MPI_INT, &type), MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Type_create_darray(1, 0, HUGE_INT, ints, ints, ints, ints, MPI_ORDER_C, MPI_INT, &type),
                MPI_ERR_NO_MEM);
}

static void lists_of_ranks(void)
{
    int rank, large[64];
    MPI_Comm comm;
    MPI_Group group, other;
    int ranges[2][3] = {{0, 0, 1}, {0, 0, 1}};
    for (int i = 0; i < 64; i++) large[i] = HUGE_INT;
    CHECK_CLASS(MPI_Cart_create(MPI_COMM_WORLD, HUGE_INT, ints, ints, 0, &comm), MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Cart_map(MPI_COMM_WORLD, HUGE_INT, ints, ints, &rank), MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Dims_create(1, HUGE_INT, ints), MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Graph_create(MPI_COMM_WORLD, HUGE_INT, ints, ints, 0, &comm), MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Graph_create(MPI_COMM_WORLD, 1, large, ints, 0, &comm), MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Graph_map(MPI_COMM_WORLD, 1, large, ints, &rank), MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Graph_map(MPI_COMM_WORLD, HUGE_INT, ints, ints, &rank), MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, ints, large, ints, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm),
                MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Dist_graph_create(MPI_COMM_WORLD, HUGE_INT, ints, ints, ints, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                      &comm), MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, HUGE_INT, ints, MPI_UNWEIGHTED, HUGE_INT, ints,
                                               MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm), MPI_ERR_NO_MEM);
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    CHECK_CLASS(MPI_Group_incl(group, HUGE_INT, ints, &other), MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Group_excl(group, HUGE_INT, ints, &other), MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Group_range_incl(group, HUGE_INT, ranges, &other), MPI_ERR_NO_MEM);
    CHECK_CLASS(MPI_Group_range_excl(group, HUGE_INT, ranges, &other), MPI_ERR_NO_MEM);
}

int main(int argc, char **argv)
{
    struct rlimit limit;
    start(&argc, &argv);
    errors_return();
    /* The segment of a host's ranks is mapped by now; 1 GiB is plenty for what follows, and less than any of the lists. */
    getrlimit(RLIMIT_DATA, &limit);
    limit.rlim_cur = 1 << 30;
    setrlimit(RLIMIT_DATA, &limit);
    lists_of_requests();
    lists_of_blocks();
    lists_of_ranks();
    return finish();
}
