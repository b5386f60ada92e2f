/* ranks: 2 */
/* MPI 5.0 section 3.6 (since 4.1): with MPI_BUFFER_AUTOMATIC the library provides the space itself, so any number of
 * buffered sends complete although nobody receives yet. Detaching returns MPI_BUFFER_AUTOMATIC as the address and 0 as
 * the size. */
#include "check.h"

enum { MESSAGES = 20, COUNT = 50000 };

int main(int argc, char **argv)
{
    static int data[COUNT];
    int size = -1, go = 0;
    void *address = NULL;
    start(&argc, &argv);
    if (world_rank == 0) {
        CHECK_CALL(MPI_Comm_attach_buffer(MPI_COMM_WORLD, MPI_BUFFER_AUTOMATIC, 0));
        for (int k = 0; k < MESSAGES; k++) {
            for (int i = 0; i < COUNT; i++) data[i] = k + i;
            CHECK_CALL(MPI_Bsend(data, COUNT, MPI_INT, 1, 1, MPI_COMM_WORLD));
        }
        MPI_Send(&go, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
        CHECK_CALL(MPI_Comm_detach_buffer(MPI_COMM_WORLD, &address, &size));
        CHECK(address == MPI_BUFFER_AUTOMATIC);
        CHECK_INT(size, 0);
    } else {
        MPI_Recv(&go, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int k = 0; k < MESSAGES; k++) {
            MPI_Recv(data, COUNT, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK_INT(data[0], k);
            CHECK_INT(data[COUNT - 1], k + COUNT - 1);
        }
    }
    return finish();
}
