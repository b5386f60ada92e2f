/* ranks: 2 */
/* MPI 5.0 section 3.2: size changes nothing in what a message means. Messages around the sizes where libraries change
 * protocol, up to 64 MiB, arrive whole in both directions at once. */
#include "check.h"

int main(int argc, char **argv)
{
    static const int sizes[] = {1, 63, 64, 1023, 4096, 8191, 16385, 65536, 131073, 1 << 20, (8 << 20) + 3, 64 << 20};
    start(&argc, &argv);
    unsigned char *out = malloc(64 << 20), *in = malloc(64 << 20);
    int other = 1 - world_rank;
    for (size_t i = 0; i < 64 << 20; i++) out[i] = (unsigned char)(i * 2654435761u >> 13) + world_rank;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        int count = -1;
        size_t wrong = 0;
        MPI_Request request;
        MPI_Status status;
        memset(in, 0, sizes[k]);
        MPI_Irecv(in, sizes[k], MPI_BYTE, other, 0, MPI_COMM_WORLD, &request);
        MPI_Send(out, sizes[k], MPI_BYTE, other, 0, MPI_COMM_WORLD);
        MPI_Wait(&request, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK_INT(count, sizes[k]);
        for (int i = 0; i < sizes[k]; i++) wrong += in[i] != (unsigned char)(out[i] - world_rank + other);
        CHECK_INT(wrong, 0);
    }
    free(out);
    free(in);
    return finish();
}
