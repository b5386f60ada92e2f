/* ranks: 1 */
/* MPI 5.0 section 7.7.2: MPI_COMM_DUP_FN copies the value as it is. Split is not a duplication and takes no attributes
 * along. */
#include "check.h"

int main(int argc, char **argv)
{
    static int data;
    int key, flag = -1, *value = NULL;
    MPI_Comm comm, twin, part;
    start(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(comm, key, &data);
    MPI_Comm_dup(comm, &twin);
    MPI_Comm_get_attr(twin, key, &value, &flag);
    CHECK_INT(flag, 1);
    CHECK(value == &data);
    MPI_Comm_split(comm, 0, 0, &part);
    MPI_Comm_get_attr(part, key, &value, &flag);
    CHECK_INT(flag, 0);
    MPI_Comm_free(&part);
    MPI_Comm_free(&twin);
    MPI_Comm_free(&comm);
    MPI_Comm_free_keyval(&key);
    return finish();
}
