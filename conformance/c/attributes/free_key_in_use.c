/* ranks: 1 */
/* MPI 5.0 section 7.7.2, MPI_Comm_free_keyval: a key that is in use may be freed; the actual free happens when all
 * references are gone. Until then the key, through a copy of its value, still reads and deletes attributes, and
 * freeing it once more changes nothing. */
#include "check.h"

static int deleted = 0;

static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    deleted++;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int key, stale, again, flag = 0, data = 5;
    void *value = NULL;
    start(&argc, &argv);
    errors_return();
    CHECK_CALL(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, on_delete, &key, NULL));
    CHECK_CALL(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &data));
    stale = again = key;
    CHECK_CALL(MPI_Comm_free_keyval(&key));
    CHECK_INT(key, MPI_KEYVAL_INVALID);
    CHECK_CALL(MPI_Comm_free_keyval(&again));
    CHECK_INT(again, MPI_KEYVAL_INVALID);
    CHECK_INT(deleted, 0);
    CHECK_CALL(MPI_Comm_get_attr(MPI_COMM_WORLD, stale, &value, &flag));
    CHECK_INT(flag, 1);
    CHECK(value == &data);
    CHECK_CALL(MPI_Comm_delete_attr(MPI_COMM_WORLD, stale));
    CHECK_INT(deleted, 1);
    return finish();
}
