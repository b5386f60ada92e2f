/* ranks: 1 */
/* MPI 5.0 sections 7.7 and 9.4: MPI_KEYVAL_INVALID is MPI_ERR_KEYVAL; keys of communicators and of datatypes are of
 * different kinds; the predefined attributes cannot be set or deleted. */
#include "check.h"

int main(int argc, char **argv)
{
    int key, flag, invalid = MPI_KEYVAL_INVALID;
    void *value;
    start(&argc, &argv);
    errors_return();
    CHECK_CLASS(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID, &value, &flag), MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID, &flag), MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Comm_delete_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID), MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Comm_free_keyval(&invalid), MPI_ERR_KEYVAL);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &key, NULL);
    CHECK_CLASS(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &flag), MPI_ERR_KEYVAL);
    CHECK_CALL(MPI_Type_free_keyval(&key));
    CHECK(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, &flag) != MPI_SUCCESS);
    CHECK(MPI_Comm_delete_attr(MPI_COMM_WORLD, MPI_TAG_UB) != MPI_SUCCESS);
    return finish();
}
