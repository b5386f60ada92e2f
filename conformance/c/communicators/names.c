/* ranks: 1 2 */
/* MPI 5.0 section 7.8: MPI_COMM_WORLD and MPI_COMM_SELF start with their own names; other communicators have the empty
 * name until one is set; a duplicate does not inherit it. The length does not count the null. */
#include "check.h"

static void named(MPI_Comm comm, const char *wanted)
{
    char name[MPI_MAX_OBJECT_NAME] = "?";
    int length = -1;
    CHECK_CALL(MPI_Comm_get_name(comm, name, &length));
    CHECK_STRING(name, wanted);
    CHECK_INT(length, strlen(wanted));
}

int main(int argc, char **argv)
{
    MPI_Comm comm, twin;
    start(&argc, &argv);
    named(MPI_COMM_WORLD, "MPI_COMM_WORLD");
    named(MPI_COMM_SELF, "MPI_COMM_SELF");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    named(comm, "");
    MPI_Comm_set_name(comm, "  a name with blanks");
    named(comm, "  a name with blanks");
    MPI_Comm_dup(comm, &twin);
    named(twin, "");
    MPI_Comm_set_name(MPI_COMM_WORLD, "everybody");
    named(MPI_COMM_WORLD, "everybody");
    MPI_Comm_free(&comm);
    MPI_Comm_free(&twin);
    return finish();
}
