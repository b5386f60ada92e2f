/* ranks: 1 */
/* skip-mpich: it takes any handler */
/* MPI 5.0 section 9.3: the error handler must be either predefined, or created by the call that belongs to the kind of
 * object; another is not valid for it: MPI_ERR_ERRHANDLER (section 9.4). What was attached stays. */
#include "check.h"

static void of_window(MPI_Win *win, int *code, ...)
{
    (void)win, (void)code;
}

static void of_communicator(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
}

int main(int argc, char **argv)
{
    MPI_Errhandler window, communicator, found;
    start(&argc, &argv);
    errors_return();
    MPI_Win_create_errhandler(of_window, &window);
    MPI_Comm_create_errhandler(of_communicator, &communicator);
    CHECK_CLASS(MPI_Comm_set_errhandler(MPI_COMM_WORLD, window), MPI_ERR_ERRHANDLER);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &found);
    CHECK(found == MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_File_set_errhandler(MPI_FILE_NULL, communicator), MPI_ERR_ERRHANDLER);
    MPI_Errhandler_free(&window);
    MPI_Errhandler_free(&communicator);
    return finish();
}
