/* ranks: 2 */
/* MPI 5.0 section 5.2: several MPI_Pack calls fill one buffer, position moves on; the message goes as MPI_PACKED and is
 * unpacked piece by piece, or received straight with the type it was packed from. MPI_Pack_size is an upper bound for
 * each piece. */
#include "check.h"

int main(int argc, char **argv)
{
    char packed[1000];
    int position = 0, number = 0, ints[4] = {0}, bound = 0, total = 0, count = -1;
    double real = 0;
    MPI_Status status;
    start(&argc, &argv);
    if (world_rank == 0) {
        int three = 3, list[4] = {5, 6, 7, 8};
        double half = 0.5;
        CHECK_CALL(MPI_Pack(&three, 1, MPI_INT, packed, 1000, &position, MPI_COMM_WORLD));
        MPI_Pack_size(1, MPI_INT, MPI_COMM_WORLD, &bound);
        total += bound;
        CHECK(position > 0 && position <= total);
        MPI_Pack(&half, 1, MPI_DOUBLE, packed, 1000, &position, MPI_COMM_WORLD);
        MPI_Pack_size(1, MPI_DOUBLE, MPI_COMM_WORLD, &bound);
        total += bound;
        MPI_Pack(list, 4, MPI_INT, packed, 1000, &position, MPI_COMM_WORLD);
        MPI_Pack_size(4, MPI_INT, MPI_COMM_WORLD, &bound);
        total += bound;
        CHECK(position <= total);
        MPI_Send(packed, position, MPI_PACKED, 1, 0, MPI_COMM_WORLD);
        position = 0;
        MPI_Pack(list, 4, MPI_INT, packed, 1000, &position, MPI_COMM_WORLD);
        MPI_Send(packed, position, MPI_PACKED, 1, 1, MPI_COMM_WORLD);
        MPI_Send(list, 4, MPI_INT, 1, 2, MPI_COMM_WORLD);
    } else {
        MPI_Recv(packed, 1000, MPI_PACKED, 0, 0, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_PACKED, &count);
        MPI_Unpack(packed, count, &position, &number, 1, MPI_INT, MPI_COMM_WORLD);
        MPI_Unpack(packed, count, &position, &real, 1, MPI_DOUBLE, MPI_COMM_WORLD);
        MPI_Unpack(packed, count, &position, ints, 4, MPI_INT, MPI_COMM_WORLD);
        CHECK_INT(position, count);
        CHECK_INT(number, 3);
        CHECK_DOUBLE(real, 0.5);
        CHECK_INT(ints[3], 8);
        memset(ints, 0, sizeof ints);
        MPI_Recv(ints, 4, MPI_INT, 0, 1, MPI_COMM_WORLD, &status);
        for (int i = 0; i < 4; i++) CHECK_INT(ints[i], 5 + i);
        MPI_Recv(packed, 1000, MPI_PACKED, 0, 2, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_PACKED, &count);
        position = 0;
        memset(ints, 0, sizeof ints);
        MPI_Unpack(packed, count, &position, ints, 4, MPI_INT, MPI_COMM_WORLD);
        for (int i = 0; i < 4; i++) CHECK_INT(ints[i], 5 + i);
    }
    return finish();
}
