/* ranks: 1 */
/* skip-mpich: it takes numbers that are no handles for indices and crashes; the standard leaves that open */
/* MPI 5.0 section 9.4: what is no handle of the kind a call wants is an error of that kind, never a crash: other kinds
 * of predefined handles (all are small numbers in the ABI), numbers nobody gave out, and addresses. */
#include "check.h"

int main(int argc, char **argv)
{
    static int object;
    static const long values[] = {0, 1, 0x17, 0x101, 0x209, 0x21, 0x180, 0x130, 0x5a5, 0xfff, 0x7fffffff, -1};
    int count = sizeof values / sizeof *values, size, data = 0, flag;
    start(&argc, &argv);
    errors_return();
    for (int i = 0; i <= count; i++) {
        void *value = i < count ? (void *)values[i] : (void *)&object;
        if (value != (void *)MPI_COMM_WORLD) {
            CHECK_CLASS(MPI_Comm_size((MPI_Comm)value, &size), MPI_ERR_COMM);
            CHECK_CLASS(MPI_Send(&data, 1, MPI_INT, 0, 0, (MPI_Comm)value), MPI_ERR_COMM);
        }
        if (value != (void *)MPI_INT) {
            CHECK_CLASS(MPI_Type_size((MPI_Datatype)value, &size), MPI_ERR_TYPE);
            CHECK_CLASS(MPI_Bcast(&data, 1, (MPI_Datatype)value, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
        }
        if (value != (void *)MPI_SUM) CHECK_CLASS(MPI_Allreduce(&data, &size, 1, MPI_INT, (MPI_Op)value, MPI_COMM_WORLD), MPI_ERR_OP);
        CHECK_CLASS(MPI_Group_size((MPI_Group)value, &size), MPI_ERR_GROUP);
        CHECK_CLASS(MPI_Info_get_nkeys((MPI_Info)value, &size), MPI_ERR_INFO);
        MPI_Request request = (MPI_Request)value;
        if (request != MPI_REQUEST_NULL) {
            CHECK_CLASS(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
            CHECK_CLASS(MPI_Request_free(&request), MPI_ERR_REQUEST);
        }
        CHECK_CLASS(MPI_Session_get_num_psets((MPI_Session)value, MPI_INFO_NULL, &size), MPI_ERR_SESSION);
        CHECK_CLASS(MPI_Comm_set_errhandler(MPI_COMM_WORLD, (MPI_Errhandler)value), MPI_ERR_ERRHANDLER);
    }
    return finish();
}
