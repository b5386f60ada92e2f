/* ranks: 1 */
/* skip-mpich: the standard calls this erroneous without naming what follows; it may reuse the handle or read freed memory */
/* A handle that was freed is not valid any more (MPI 5.0 section 2.5.1), so a copy of it kept by the program gives the
 * error class of its kind, also after new objects were made. */
#include "check.h"

static void never_reduce(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)in;
    (void)inout;
    (void)length;
    (void)type;
}

static void never_handle(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
}

int main(int argc, char **argv)
{
    int size = -1, key = 0, data = 0;
    MPI_Comm comm, old_comm, twin;
    MPI_Datatype type, old_type, other;
    MPI_Group world, group, old_group;
    MPI_Info info, old_info;
    MPI_Op op, old_op;
    MPI_Request request, old_request;
    MPI_Errhandler handler, old_handler;
    start(&argc, &argv);
    errors_return();
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    old_comm = comm;
    MPI_Comm_free(&comm);
    CHECK_CLASS(MPI_Comm_size(old_comm, &size), MPI_ERR_COMM);
    MPI_Comm_dup(MPI_COMM_SELF, &twin);
    CHECK_CLASS(MPI_Barrier(old_comm), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Comm_free(&old_comm), MPI_ERR_COMM);
    MPI_Comm_free(&twin);
    MPI_Type_contiguous(2, MPI_INT, &type);
    old_type = type;
    MPI_Type_free(&type);
    CHECK_CLASS(MPI_Type_size(old_type, &size), MPI_ERR_TYPE);
    MPI_Type_contiguous(3, MPI_INT, &other);
    CHECK_CLASS(MPI_Type_commit(&old_type), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_free(&old_type), MPI_ERR_TYPE);
    MPI_Type_free(&other);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &(int){0}, &group);
    old_group = group;
    MPI_Group_free(&group);
    CHECK_CLASS(MPI_Group_size(old_group, &size), MPI_ERR_GROUP);
    MPI_Info_create(&info);
    old_info = info;
    MPI_Info_free(&info);
    CHECK_CLASS(MPI_Info_get_nkeys(old_info, &size), MPI_ERR_INFO);
    MPI_Op_create(never_reduce, 1, &op);
    old_op = op;
    MPI_Op_free(&op);
    CHECK_CLASS(MPI_Op_free(&old_op), MPI_ERR_OP);
    MPI_Recv_init(&data, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
    old_request = request;
    MPI_Request_free(&request);
    CHECK_CLASS(MPI_Start(&old_request), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Wait(&old_request, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    MPI_Comm_create_errhandler(never_handle, &handler);
    old_handler = handler;
    MPI_Errhandler_free(&handler);
    CHECK_CLASS(MPI_Comm_set_errhandler(MPI_COMM_SELF, old_handler), MPI_ERR_ERRHANDLER);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    int old_key = key;
    MPI_Comm_free_keyval(&key);
    CHECK_CLASS(MPI_Comm_set_attr(MPI_COMM_WORLD, old_key, &data), MPI_ERR_KEYVAL);
    MPI_Group_free(&world);
    return finish();
}
