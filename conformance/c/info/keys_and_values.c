/* ranks: 1 */
/* MPI 5.0 chapter 10: an info object is an ordered set of (key, value) strings; setting a key again replaces its value;
 * the nth key is stable between changes; deleting an unknown key is MPI_ERR_INFO_NOKEY. Leading and trailing blanks of
 * a value may be stripped, inner ones may not. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Info info, copy;
    int keys = -1, flag = -1, room;
    char key[MPI_MAX_INFO_KEY + 1], value[64];
    start(&argc, &argv);
    errors_return();
    MPI_Info_create(&info);
    MPI_Info_set(info, "one", "1");
    MPI_Info_set(info, "two", "a value");
    MPI_Info_set(info, "one", "uno");
    MPI_Info_get_nkeys(info, &keys);
    CHECK_INT(keys, 2);
    int seen = 0;
    for (int i = 0; i < keys; i++) {
        MPI_Info_get_nthkey(info, i, key);
        seen |= strcmp(key, "one") == 0 ? 1 : strcmp(key, "two") == 0 ? 2 : 4;
    }
    CHECK_INT(seen, 3);
    room = sizeof value;
    MPI_Info_get_string(info, "one", &room, value, &flag);
    CHECK_INT(flag, 1);
    CHECK_STRING(value, "uno");
    CHECK_INT(room, 4);
    /* Too little room: the value is cut, and the room needed comes back. */
    room = 4;
    MPI_Info_get_string(info, "two", &room, value, &flag);
    CHECK_STRING(value, "a v");
    CHECK_INT(room, 8);
    /* No room: nothing is written. */
    room = 0;
    strcpy(value, "kept");
    MPI_Info_get_string(info, "two", &room, value, &flag);
    CHECK_INT(room, 8);
    CHECK_STRING(value, "kept");
    room = sizeof value;
    MPI_Info_get_string(info, "three", &room, value, &flag);
    CHECK_INT(flag, 0);
    CHECK_CLASS(MPI_Info_delete(info, "three"), MPI_ERR_INFO_NOKEY);
    MPI_Info_dup(info, &copy);
    CHECK_CALL(MPI_Info_delete(info, "one"));
    MPI_Info_get_nkeys(info, &keys);
    CHECK_INT(keys, 1);
    MPI_Info_get_nkeys(copy, &keys);
    CHECK_INT(keys, 2);
    MPI_Info_free(&info);
    MPI_Info_free(&copy);
    CHECK(copy == MPI_INFO_NULL);
    return finish();
}
