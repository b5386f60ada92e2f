/* ranks: 1 2 */
/* MPI 5.0 section 12.2.7: windows take hints at creation and by MPI_Win_set_info; hints that are
 * not known are ignored; MPI_Win_get_info gives a new info object, and a hint that it holds has
 * the value that is in use. */
#include "check.h"

static void value_of(MPI_Win win, const char *key, const char *wanted)
{
    MPI_Info info = MPI_INFO_NULL;
    char value[200] = "";
    int length = sizeof value, flag = 0;
    CHECK_CALL(MPI_Win_get_info(win, &info));
    CHECK(info != MPI_INFO_NULL);
    MPI_Info_get_string(info, key, &length, value, &flag);
    if (flag) CHECK_STRING(value, wanted);
    CHECK_CALL(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
    int data[4] = {0}, value = 3;
    MPI_Info info;
    MPI_Win win;
    start(&argc, &argv);
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "true");
    MPI_Info_set(info, "accumulate_ordering", "none");
    MPI_Info_set(info, "accumulate_ops", "same_op");
    MPI_Info_set(info, "same_size", "true");
    MPI_Info_set(info, "same_disp_unit", "true");
    MPI_Info_set(info, "mpi_accumulate_granularity", "4");
    MPI_Info_set(info, "weather_on_the_moon", "fair");
    CHECK_CALL(MPI_Win_create(data, sizeof data, 4, info, MPI_COMM_WORLD, &win));
    value_of(win, "no_locks", "true");
    value_of(win, "accumulate_ordering", "none");
    value_of(win, "accumulate_ops", "same_op");
    value_of(win, "same_size", "true");
    value_of(win, "same_disp_unit", "true");
    MPI_Win_fence(0, win);
    MPI_Accumulate(&value, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(0, win);
    if (world_rank == 0) CHECK_INT(data[1], 3 * world_size);
    CHECK_CALL(MPI_Win_set_info(win, info));
    MPI_Info_free(&info);
    MPI_Win_free(&win);
    CHECK_CALL(MPI_Win_create(data, sizeof data, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    value_of(win, "no_locks", "false");
    value_of(win, "accumulate_ordering", "rar,raw,war,waw");
    value_of(win, "accumulate_ops", "same_op_no_op");
    value_of(win, "same_size", "false");
    value_of(win, "same_disp_unit", "false");
    MPI_Win_free(&win);
    return finish();
}
