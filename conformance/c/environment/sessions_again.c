/* ranks: 2 */
/* skip-mpich: release 5.0.2 now and then mixes messages of one session with those of the next */
/* MPI 5.0 chapter 11: sessions may be opened and closed repeatedly, two may be open at once, and they may live beside
 * the world model, before, during and after it. */
#include "check.h"

static void one_session(const char *tag, int expected)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int rank = -1, size = -1, sum = -1;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (expected > 0) CHECK_INT(size, expected);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK_INT(sum, size * (size - 1) / 2);
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
}

int main(int argc, char **argv)
{
    MPI_Session outer;
    one_session("first", 0);
    one_session("second", 0);
    start(&argc, &argv);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &outer);
    one_session("beside the world", world_size);
    MPI_Session_finalize(&outer);
    MPI_Finalize();
    one_session("after the world", world_size);
    return verdict();
}
