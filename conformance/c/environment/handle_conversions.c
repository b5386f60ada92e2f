/* ranks: 1 */
/* MPI 5.0 chapters 19 and 20: MPI_Comm_toint and MPI_Comm_fromint (and those of the other kinds) turn handles into integers
 * and back without loss. For predefined handles the integer is the value of the ABI's constant, and the null handle of a
 * kind comes back as null. */
#include "check.h"

#define ROUND(kind, handle)                                                        \
    do {                                                                           \
        int number = MPI_##kind##_toint(handle);                                   \
        CHECK(MPI_##kind##_fromint(number) == (handle));                           \
    } while (0)
#define FIXED(kind, handle)                                                        \
    do {                                                                           \
        ROUND(kind, handle);                                                       \
        CHECK_INT(MPI_##kind##_toint(handle), (MPI_Aint)(handle));                 \
    } while (0)

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Datatype type;
    MPI_Group group;
    MPI_Info info;
    MPI_Request request;
    int data = 0;
    start(&argc, &argv);
    FIXED(Comm, MPI_COMM_WORLD);
    FIXED(Comm, MPI_COMM_NULL);
    FIXED(Type, MPI_DOUBLE);
    FIXED(Op, MPI_SUM);
    FIXED(Group, MPI_GROUP_EMPTY);
    FIXED(Info, MPI_INFO_NULL);
    FIXED(Request, MPI_REQUEST_NULL);
    FIXED(Errhandler, MPI_ERRORS_RETURN);
    FIXED(Session, MPI_SESSION_NULL);
    FIXED(Message, MPI_MESSAGE_NO_PROC);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Comm_group(comm, &group);
    MPI_Info_create(&info);
    MPI_Recv_init(&data, 1, MPI_INT, 0, 0, comm, &request);
    ROUND(Comm, comm);
    ROUND(Type, type);
    ROUND(Group, group);
    ROUND(Info, info);
    ROUND(Request, request);
    MPI_Request_free(&request);
    MPI_Info_free(&info);
    MPI_Group_free(&group);
    MPI_Type_free(&type);
    MPI_Comm_free(&comm);
    return finish();
}
