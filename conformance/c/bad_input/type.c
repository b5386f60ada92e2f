/* ranks: 1 */
/* MPI 5.0 sections 9.4 and 5.1.9: MPI_DATATYPE_NULL and a type that was not committed are MPI_ERR_TYPE in
 * communication; a predefined type cannot be freed, nor its contents be asked for. Constructors and packing sizes do
 * not need a committed type. */
#include "check.h"

int main(int argc, char **argv)
{
    int data[2] = {0}, size = -1, integers[1];
    MPI_Datatype raw, twice, named = MPI_INT, none = MPI_DATATYPE_NULL;
    MPI_Request request;
    start(&argc, &argv);
    errors_return();
    MPI_Type_contiguous(2, MPI_INT, &raw);
    CHECK_CLASS(MPI_Send(data, 1, raw, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Irecv(data, 1, raw, 0, 0, MPI_COMM_WORLD, &request), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Bcast(data, 1, raw, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    CHECK_CALL(MPI_Type_contiguous(2, raw, &twice));
    MPI_Type_free(&twice);
    CHECK_CALL(MPI_Type_size(raw, &size));
    CHECK_CALL(MPI_Type_commit(&raw));
    CHECK_CALL(MPI_Type_commit(&raw));
    CHECK_CALL(MPI_Bcast(data, 1, raw, 0, MPI_COMM_WORLD));
    CHECK_CLASS(MPI_Send(data, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_size(MPI_DATATYPE_NULL, &size), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_contiguous(2, MPI_DATATYPE_NULL, &twice), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_commit(&none), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_free(&none), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_free(&named), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_get_contents(MPI_INT, 1, 0, 0, integers, NULL, NULL), MPI_ERR_TYPE);
    MPI_Type_free(&raw);
    return finish();
}
