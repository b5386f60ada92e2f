/* ranks: 1 2 */
/* MPI 5.0 sections 10 and 11.2: MPI_INFO_ENV always exists; the keys the standard lists need not be set, but those that
 * are have sensible values: maxprocs a positive number, thread_level a name of a level. MPI_Info_create_env makes an
 * object with such keys before MPI_Init. MPI_Get_hw_resource_info returns an object whose values are "true" or "false". */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Info made, hardware;
    char value[256], key[MPI_MAX_INFO_KEY + 1];
    int flag = -1, keys = -1, room = sizeof value;
    CHECK_INT(MPI_Info_create_env(argc, argv, &made), MPI_SUCCESS);
    CHECK(made != MPI_INFO_NULL);
    CHECK_INT(MPI_Info_free(&made), MPI_SUCCESS);
    start(&argc, &argv);
    CHECK_CALL(MPI_Info_get_nkeys(MPI_INFO_ENV, &keys));
    CHECK(keys >= 0);
    CHECK_CALL(MPI_Info_get_string(MPI_INFO_ENV, "maxprocs", &room, value, &flag));
    if (flag) CHECK(atoi(value) >= 1);
    room = sizeof value;
    CHECK_CALL(MPI_Info_get_string(MPI_INFO_ENV, "thread_level", &room, value, &flag));
    if (flag) CHECK(strncmp(value, "MPI_THREAD_", 11) == 0);
    CHECK_CALL(MPI_Get_hw_resource_info(&hardware));
    MPI_Info_get_nkeys(hardware, &keys);
    for (int i = 0; i < keys; i++) {
        MPI_Info_get_nthkey(hardware, i, key);
        room = sizeof value;
        MPI_Info_get_string(hardware, key, &room, value, &flag);
        CHECK(strcmp(value, "true") == 0 || strcmp(value, "false") == 0);
    }
    CHECK_CALL(MPI_Info_free(&hardware));
    return finish();
}
