/* ranks: 2 */
/* MPI 5.0 section 7.4.4: MPI_Comm_get_info returns a new info object with the hints in use; hints are per communicator,
 * MPI_Comm_dup_with_info takes those given, and a hint of the standard such as mpi_assert_no_any_tag is either reported
 * as set or not used. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Info hints, used;
    MPI_Comm comm;
    int flag = -1, room, keys = -1;
    char value[32];
    start(&argc, &argv);
    MPI_Info_create(&hints);
    MPI_Info_set(hints, "mpi_assert_no_any_tag", "true");
    CHECK_CALL(MPI_Comm_dup_with_info(MPI_COMM_WORLD, hints, &comm));
    CHECK_CALL(MPI_Comm_get_info(comm, &used));
    CHECK(used != MPI_INFO_NULL && used != hints);
    room = sizeof value;
    MPI_Info_get_string(used, "mpi_assert_no_any_tag", &room, value, &flag);
    if (flag) CHECK_STRING(value, "true");
    MPI_Info_free(&used);
    CHECK_CALL(MPI_Comm_set_info(comm, hints));
    MPI_Info_free(&hints);
    CHECK_CALL(MPI_Comm_get_info(MPI_COMM_WORLD, &used));
    CHECK_CALL(MPI_Info_get_nkeys(used, &keys));
    CHECK(keys >= 0);
    MPI_Info_free(&used);
    MPI_Comm_free(&comm);
    return finish();
}
