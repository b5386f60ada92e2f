/* ranks: 1 */
/* MPI 5.0 sections 10 and 9.4: an empty or too long key is MPI_ERR_INFO_KEY, a too long value MPI_ERR_INFO_VALUE, an
 * unknown key to delete MPI_ERR_INFO_NOKEY. */
#include "check.h"

int main(int argc, char **argv)
{
    static char key[MPI_MAX_INFO_KEY + 10], value[MPI_MAX_INFO_VAL + 10];
    int count;
    MPI_Info info;
    start(&argc, &argv);
    errors_return();
    memset(key, 0x6b, sizeof key - 1);
    memset(value, 0x76, sizeof value - 1);
    MPI_Info_create(&info);
    CHECK_CLASS(MPI_Info_set(info, key, "b"), MPI_ERR_INFO_KEY);
    CHECK_CLASS(MPI_Info_set(info, "", "b"), MPI_ERR_INFO_KEY);
    CHECK_CLASS(MPI_Info_set(info, "a", value), MPI_ERR_INFO_VALUE);
    CHECK_CLASS(MPI_Info_delete(info, "missing"), MPI_ERR_INFO_NOKEY);
    MPI_Info_get_nkeys(info, &count);
    CHECK_INT(count, 0);
    MPI_Info_free(&info);
    return finish();
}
