/* ranks: 1 2 */
/* MPI 5.0 chapter 9 (environmental inquiries): these attributes are attached to MPI_COMM_WORLD. In C the value is a
 * pointer to an int. MPI_TAG_UB is at least 32767 and the same on every process; MPI_WTIME_IS_GLOBAL is 0 or 1;
 * MPI_LASTUSEDCODE is at least MPI_ERR_LASTCODE and is MPI_ERR_LASTCODE until the first new class or code is added. */
#include "check.h"

static int *value_of(int keyval, int *flag)
{
    int *value = NULL;
    MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, &value, flag);
    return *flag ? value : NULL;
}

int main(int argc, char **argv)
{
    int flag = 0, *value, lowest, highest, class;
    start(&argc, &argv);

    value = value_of(MPI_TAG_UB, &flag);
    CHECK_INT(flag, 1);
    CHECK(value != NULL && *value >= 32767);
    MPI_Allreduce(value, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(value, &highest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK_INT(lowest, highest);

    value = value_of(MPI_WTIME_IS_GLOBAL, &flag);
    CHECK_INT(flag, 1);
    CHECK(value != NULL && (*value == 0 || *value == 1));

    value = value_of(MPI_LASTUSEDCODE, &flag);
    CHECK_INT(flag, 1);
    CHECK(value != NULL && *value == MPI_ERR_LASTCODE);
    MPI_Add_error_class(&class);
    value = value_of(MPI_LASTUSEDCODE, &flag);
    CHECK(class > MPI_ERR_LASTCODE);
    CHECK(value != NULL && *value == class);

    value = value_of(MPI_UNIVERSE_SIZE, &flag);
    if (flag) CHECK(*value >= world_size);
    value = value_of(MPI_APPNUM, &flag);
    if (flag) CHECK(*value >= 0);
    return finish();
}
