/* ranks: 1 */
/* skip-mpich: it raises an error where the text of MPI_Info_get (section 16.3) says that the value is truncated */
/* MPI 5.0 section 16.3, MPI_Info_get: if valuelen is less than the length of the value, the value is truncated;
 * valuelen does not count the null. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Info info;
    char value[16] = "";
    int flag = -1;
    start(&argc, &argv);
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "abcdef");
    CHECK_CALL(MPI_Info_get(info, "key", 3, value, &flag));
    CHECK_INT(flag, 1);
    CHECK_STRING(value, "abc");
    MPI_Info_free(&info);
    return finish();
}
