/* ranks: 1 2 3 */
/* MPI 5.0 chapter 11 (sessions model): without MPI_Init, a session offers at least the process sets mpi://WORLD and
 * mpi://SELF. A group made from the first has every process of the job, and a communicator made from that group works.
 * Creating and closing sessions does not make MPI_Initialized true, which speaks of the world model only. */
#include "check.h"

static int find_set(MPI_Session session, const char *wanted)
{
    int sets = 0, found = 0;
    MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets);
    CHECK(sets >= 2);
    for (int i = 0; i < sets; i++) {
        int length = 0;
        char name[MPI_MAX_PSET_NAME_LEN + 1];
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, NULL);
        CHECK(length > 1 && length <= MPI_MAX_PSET_NAME_LEN);
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name);
        CHECK_INT(strlen(name) + 1, length);
        found += strcmp(name, wanted) == 0;
    }
    return found;
}

int main(void)
{
    MPI_Session session;
    MPI_Group world, self;
    MPI_Comm comm;
    MPI_Info info;
    int flag = -1, one = 1, sum = 0, room = 32;
    char text[32] = "";
    CHECK_INT(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session), MPI_SUCCESS);
    CHECK(session != MPI_SESSION_NULL);
    CHECK_INT(find_set(session, "mpi://WORLD"), 1);
    CHECK_INT(find_set(session, "mpi://SELF"), 1);
    CHECK_INT(MPI_Group_from_session_pset(session, "mpi://WORLD", &world), MPI_SUCCESS);
    CHECK_INT(MPI_Group_from_session_pset(session, "mpi://SELF", &self), MPI_SUCCESS);
    MPI_Group_rank(world, &world_rank);
    MPI_Group_size(world, &world_size);
    MPI_Group_size(self, &one);
    CHECK_INT(one, 1);
    MPI_Session_get_pset_info(session, "mpi://WORLD", &info);
    MPI_Info_get_string(info, "mpi_size", &room, text, &flag);
    CHECK_INT(flag, 1);
    CHECK_INT(atoi(text), world_size);
    MPI_Info_free(&info);
    CHECK_INT(MPI_Comm_create_from_group(world, "conformance.sessions", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm), MPI_SUCCESS);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK_INT(sum, world_size);
    MPI_Initialized(&flag);
    CHECK_INT(flag, 0);
    MPI_Group_free(&world);
    MPI_Group_free(&self);
    MPI_Comm_free(&comm);
    CHECK_INT(MPI_Session_finalize(&session), MPI_SUCCESS);
    CHECK(session == MPI_SESSION_NULL);
    return verdict();
}
