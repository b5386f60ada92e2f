/* ranks: 1 */
/* MPI 5.0 chapter 11: MPI_Group_from_session_pset answers MPI_GROUP_NULL for a set that does not exist. Errors of
 * session calls go to the session's own handler, which is called with the session: the set with index -1 is such an
 * error (MPI_ERR_ARG). The null session is not a session: MPI_ERR_SESSION. */
#include "check.h"

static int calls = 0;
static MPI_Session seen = MPI_SESSION_NULL;

static void on_error(MPI_Session *session, int *code, ...)
{
    (void)code;
    calls++;
    seen = *session;
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    MPI_Session session;
    MPI_Group group = MPI_GROUP_EMPTY;
    int sets, length = 8;
    char name[8];
    CHECK_INT(MPI_Session_create_errhandler(on_error, &handler), MPI_SUCCESS);
    CHECK_INT(MPI_Session_init(MPI_INFO_NULL, handler, &session), MPI_SUCCESS);
    MPI_Group_from_session_pset(session, "conformance://no such set", &group);
    CHECK(group == MPI_GROUP_NULL);
    calls = 0;
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, -1, &length, name);
    CHECK_INT(calls, 1);
    CHECK(seen == session);
    CHECK_INT(MPI_Session_call_errhandler(session, MPI_ERR_OTHER), MPI_SUCCESS);
    CHECK_INT(calls, 2);
    MPI_Errhandler_free(&handler);
    MPI_Session_finalize(&session);

    start(&argc, &argv);
    errors_return();
    CHECK_CLASS(MPI_Session_get_num_psets(MPI_SESSION_NULL, MPI_INFO_NULL, &sets), MPI_ERR_SESSION);
    return finish();
}
