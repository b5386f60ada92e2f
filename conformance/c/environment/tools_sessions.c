/* ranks: 1 */
/* skip-mpich: release 5.0.2 crashes on MPI_T_PVAR_ALL_HANDLES */
/* MPI 5.0 section 15.3.7: a tool makes a session before it asks for variables, however many there are; all handles of a
 * session can be started, stopped and reset at once, also when it has none. Freeing sets the session to
 * MPI_T_PVAR_SESSION_NULL. Sections 15.3.6 and 15.3.7: indices and names that are not there have errors of their own,
 * which are returned: the interface has no error handler. */
#include "check.h"

int main(int argc, char **argv)
{
    int provided, number = -1, index, length = 0;
    MPI_T_pvar_session first = MPI_T_PVAR_SESSION_NULL, second = MPI_T_PVAR_SESSION_NULL;
    CHECK_INT(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    start(&argc, &argv);
    CHECK_INT(MPI_T_pvar_session_create(&first), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_session_create(&second), MPI_SUCCESS);
    CHECK(first != MPI_T_PVAR_SESSION_NULL && first != second);
    CHECK_INT(MPI_T_pvar_start(first, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_stop(first, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_reset(first, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_session_free(&first), MPI_SUCCESS);
    CHECK(first == MPI_T_PVAR_SESSION_NULL);
    CHECK_INT(MPI_T_pvar_session_free(&second), MPI_SUCCESS);

    CHECK_INT(MPI_T_cvar_get_num(&number), MPI_SUCCESS);
    CHECK(number >= 0);
    CHECK_INT(MPI_T_cvar_get_info(number, NULL, &length, NULL, NULL, NULL, NULL, &length, NULL, NULL),
              MPI_T_ERR_INVALID_INDEX);
    CHECK_INT(MPI_T_cvar_get_index("no variable has this name", &index), MPI_T_ERR_INVALID_NAME);
    CHECK_INT(MPI_T_pvar_get_index("no variable has this name", MPI_T_PVAR_CLASS_COUNTER, &index),
              MPI_T_ERR_INVALID_NAME);
    CHECK_INT(MPI_T_category_get_index("no category has this name", &index), MPI_T_ERR_INVALID_NAME);
    CHECK_INT(MPI_T_finalize(), MPI_SUCCESS);
    return finish();
}
