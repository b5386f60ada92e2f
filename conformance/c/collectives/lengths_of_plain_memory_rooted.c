/* ranks: 1 2 3 4 */
/* MPI 5.0 sections 6.4 to 6.11: what a collective with a root does depends on no length. Predefined types in
 * memory of one block, with lengths around those where libraries change their way, every root, in place where that is
 * allowed, and blocks that overtake each other: displacements may be negative and need not grow with the rank. */
#include "plain_memory.h"

static void rooted(int n, int root)
{
    clear();
    for (int i = 0; i < n; i++) {
        wanted[i] = element(root, 0, i);
        if (world_rank == root) got[i] = wanted[i];
    }
    CHECK_CALL(MPI_Bcast(got, n, MPI_LONG, root, MPI_COMM_WORLD));
    check_got(n + 1);

    for (int in_place = 0; in_place < 2; in_place++) {
        int there = in_place && world_rank == root;
        clear();
        for (int i = 0; i < n; i++) {
            sent[i] = element(world_rank, 0, i);
            if (there) got[world_rank * n + i] = sent[i];
            for (int r = 0; r < world_size && world_rank == root; r++) wanted[r * n + i] = element(r, 0, i);
        }
        CHECK_CALL(MPI_Gather(there ? MPI_IN_PLACE : sent, n, MPI_LONG, got, n, MPI_LONG, root, MPI_COMM_WORLD));
        check_got(world_size * n + 1);

        clear();
        for (int i = 0; i < n; i++) {
            for (int r = 0; r < world_size; r++) sent[r * n + i] = element(root, r, i);
            wanted[i] = there ? -1 : element(root, world_rank, i);
        }
        CHECK_CALL(MPI_Scatter(sent, n, MPI_LONG, there ? MPI_IN_PLACE : got, n, MPI_LONG, root, MPI_COMM_WORLD));
        check_got(n + 1);

        clear();
        for (int i = 0; i < n; i++) {
            sent[i] = element(world_rank, 0, i);
            if (there) got[i] = sent[i];
            if (world_rank == root)
                for (int r = wanted[i] = 0; r < world_size; r++) wanted[i] += element(r, 0, i);
        }
        CHECK_CALL(MPI_Reduce(there ? MPI_IN_PLACE : sent, got, n, MPI_LONG, MPI_SUM, root, MPI_COMM_WORLD));
        check_got(n + 1);
    }

    /* The blocks of the ranks lie in reverse, two elements apart, around the address that is given. */
    int counts[4], places[4];
    for (int r = 0; r < world_size; r++) {
        counts[r] = r == 1 ? n / 2 : n;
        places[r] = (1 - r) * (n + 2);
    }
    long *middle = got + (world_size - 1) * (n + 2);
    clear();
    for (int i = 0; i < n; i++) sent[i] = element(world_rank, 0, i);
    for (int r = 0; r < world_size && world_rank == root; r++)
        for (int i = 0; i < counts[r]; i++) wanted[middle - got + places[r] + i] = element(r, 0, i);
    CHECK_CALL(MPI_Gatherv(sent, counts[world_rank], MPI_LONG, middle, counts, places, MPI_LONG, root, MPI_COMM_WORLD));
    check_got(PLACES);

    long *back = sent + (middle - got);
    clear();
    for (int r = 0; r < world_size; r++)
        for (int i = 0; i < counts[r]; i++) back[places[r] + i] = element(root, r, i);
    for (int i = 0; i < counts[world_rank]; i++) wanted[i] = element(root, world_rank, i);
    CHECK_CALL(MPI_Scatterv(back, counts, places, MPI_LONG, got, counts[world_rank], MPI_LONG, root, MPI_COMM_WORLD));
    check_got(n + 1);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    for (int at = 0; at < LENGTHS; at++)
        for (int root = 0; root < world_size; root++) rooted(lengths[at], root);
    return finish();
}
