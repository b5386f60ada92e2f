/* ranks: 1 */
/* skip-mpich: a session without MPI_Init and a stale info crash release 5.0.2 */
/* MPI 5.0 section 11.3.1: the info of MPI_Session_init may have the key thread_level, whose values are the names of the
 * four levels. A value that is none of them, or an info that is none, is an error of the handler given, and there is
 * no session then. */
#include "check.h"

int main(void)
{
    MPI_Session session = MPI_SESSION_NULL;
    MPI_Info info, stale, used;
    char value[64];
    int room = sizeof value, flag = 0;
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_DOUBLE");
    CHECK_CLASS(MPI_Session_init(info, MPI_ERRORS_RETURN, &session), MPI_ERR_INFO_VALUE);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_FUNNELED");
    CHECK_CALL(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
    CHECK_CALL(MPI_Session_get_info(session, &used));
    MPI_Info_get_string(used, "thread_level", &room, value, &flag);
    CHECK_INT(flag, 1);
    CHECK_STRING(value, "MPI_THREAD_FUNNELED");
    MPI_Info_free(&used);
    CHECK_CALL(MPI_Session_finalize(&session));
    stale = info;
    MPI_Info_free(&info);
    CHECK_CLASS(MPI_Session_init(stale, MPI_ERRORS_RETURN, &session), MPI_ERR_INFO);
    CHECK_CLASS(MPI_Session_init((MPI_Info)MPI_COMM_NULL, MPI_ERRORS_RETURN, &session), MPI_ERR_INFO);
    return verdict();
}
