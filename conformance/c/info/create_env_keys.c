/* ranks: 2 */
/* skip-mpich: its objects lack keys, which the standard permits */
/* MPI 5.0 section 11.5: MPI_Info_create_env makes an object with the same construction as MPI_INFO_ENV, from the
 * arguments that it gets. So both have the same keys, and command and argv are those of the call. */
#include "check.h"

static int get(MPI_Info info, const char *key, char *value, int room)
{
    int flag = 0;
    value[0] = '\0';
    MPI_Info_get_string(info, key, &room, value, &flag);
    return flag;
}

int main(int argc, char **argv)
{
    static const char *keys[] = {"command", "maxprocs", "soft", "host", "arch", "wdir"};
    char *own[] = {"program", "one", "two", NULL}, one[MPI_MAX_INFO_VAL], other[MPI_MAX_INFO_VAL];
    MPI_Info before, made, given;
    MPI_Info_create_env(argc, argv, &before);
    CHECK_INT(get(before, "command", one, sizeof one), 1);
    CHECK_STRING(one, argv[0]);
    CHECK_INT(get(before, "host", one, sizeof one), 1);
    CHECK_INT(get(before, "maxprocs", one, sizeof one), 1);
    CHECK_INT(atoi(one), 2);
    /* It is the level requested before the program started, and nothing was. */
    CHECK_INT(get(before, "thread_level", one, sizeof one), 0);
    MPI_Info_free(&before);
    start(&argc, &argv);
    CHECK_CALL(MPI_Info_create_env(argc, argv, &made));
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        CHECK_INT(get(MPI_INFO_ENV, keys[i], one, sizeof one), 1);
        CHECK_INT(get(made, keys[i], other, sizeof other), 1);
        CHECK_STRING(other, one);
    }
    CHECK_INT(get(made, "maxprocs", one, sizeof one), 1);
    CHECK_INT(atoi(one), world_size);
    CHECK_CALL(MPI_Info_create_env(3, own, &given));
    CHECK_INT(get(given, "command", one, sizeof one), 1);
    CHECK_STRING(one, "program");
    CHECK_INT(get(given, "argv", one, sizeof one), 1);
    CHECK_STRING(one, "one two");
    MPI_Info_free(&given);
    MPI_Info_free(&made);
    return finish();
}
