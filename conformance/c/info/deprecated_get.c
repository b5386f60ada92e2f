/* ranks: 1 */
/* MPI 5.0 section 16.3 (deprecated since 4.0, still there): MPI_Info_get takes the room without the null,
 * MPI_Info_get_valuelen gives the length without the null. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Info info;
    char value[16] = "";
    int length = -1, flag = -1;
    start(&argc, &argv);
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "abcdef");
    MPI_Info_get_valuelen(info, "key", &length, &flag);
    CHECK_INT(flag, 1);
    CHECK_INT(length, 6);
    MPI_Info_get(info, "key", 15, value, &flag);
    CHECK_INT(flag, 1);
    CHECK_STRING(value, "abcdef");
    MPI_Info_get(info, "nothing", 15, value, &flag);
    CHECK_INT(flag, 0);
    MPI_Info_get_valuelen(info, "nothing", &length, &flag);
    CHECK_INT(flag, 0);
    MPI_Info_free(&info);
    return finish();
}
