/* ranks: 1 2 3 4 */
/* MPI 5.0 section 6.8: rank i sends i + j elements to rank j. MPI_Alltoallv takes displacements in extents,
 * MPI_Alltoallw in bytes, with a type per peer; here w receives every block as bytes of a vector with stride 2. */
#include "check.h"

int main(int argc, char **argv)
{
    int sendcounts[4], sendplaces[4], recvcounts[4], recvplaces[4], out[64], in[64], ones[4], bytes[4], sendbytes[4];
    MPI_Datatype ints[4], strided[4];
    start(&argc, &argv);
    int sent = 0, received = 0;
    for (int j = 0; j < world_size; j++) {
        sendcounts[j] = recvcounts[j] = world_rank + j;
        sendplaces[j] = sent;
        recvplaces[j] = received;
        for (int i = 0; i < sendcounts[j]; i++) out[sent + i] = 1000 * world_rank + 100 * j + i;
        sent += sendcounts[j];
        received += recvcounts[j] + 1;
    }
    memset(in, -1, sizeof in);
    CHECK_CALL(MPI_Alltoallv(out, sendcounts, sendplaces, MPI_INT, in, recvcounts, recvplaces, MPI_INT, MPI_COMM_WORLD));
    for (int j = 0; j < world_size; j++) {
        for (int i = 0; i < recvcounts[j]; i++) CHECK_INT(in[recvplaces[j] + i], 1000 * j + 100 * world_rank + i);
        CHECK_INT(in[recvplaces[j] + recvcounts[j]], -1);
    }
    received = 0;
    for (int j = 0; j < world_size; j++) {
        ones[j] = 1;
        ints[j] = MPI_INT;
        sendbytes[j] = sendplaces[j] * (int)sizeof(int);
        bytes[j] = received * (int)sizeof(int);
        MPI_Type_vector(recvcounts[j], 1, 2, MPI_INT, &strided[j]);
        MPI_Type_commit(&strided[j]);
        received += 2 * recvcounts[j];
    }
    memset(in, -1, sizeof in);
    CHECK_CALL(MPI_Alltoallw(out, sendcounts, sendbytes, ints, in, ones, bytes, strided, MPI_COMM_WORLD));
    received = 0;
    for (int j = 0; j < world_size; j++) {
        for (int i = 0; i < recvcounts[j]; i++) {
            CHECK_INT(in[received + 2 * i], 1000 * j + 100 * world_rank + i);
            CHECK_INT(in[received + 2 * i + 1], -1);
        }
        received += 2 * recvcounts[j];
        MPI_Type_free(&strided[j]);
    }
    return finish();
}
