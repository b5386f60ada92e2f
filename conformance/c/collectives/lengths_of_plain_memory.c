/* ranks: 1 2 3 4 */
/* MPI 5.0 sections 6.4 to 6.11: what a collective without a root does depends on no length. Predefined types in
 * memory of one block, with lengths around those where libraries change their way, in place where that is
 * allowed, and blocks that overtake each other: displacements may be negative and need not grow with the rank. */
#include "plain_memory.h"

static void of_everybody(int n)
{
    int counts[4], places[4], back_places[4];
    for (int in_place = 0; in_place < 2; in_place++) {
        const void *from = in_place ? MPI_IN_PLACE : (void *)sent;
        clear();
        for (int i = 0; i < n; i++) {
            sent[i] = element(world_rank, 0, i);
            if (in_place) got[world_rank * n + i] = sent[i];
            for (int r = 0; r < world_size; r++) wanted[r * n + i] = element(r, 0, i);
        }
        CHECK_CALL(MPI_Allgather(from, n, MPI_LONG, got, n, MPI_LONG, MPI_COMM_WORLD));
        check_got(world_size * n + 1);

        for (int way = 0; way < 4; way++) {
            clear();
            for (int i = 0; i < n; i++) {
                sent[i] = element(world_rank, 0, i);
                if (in_place) got[i] = sent[i];
                int first = way == 3 ? world_size - 1 : 0, end = way == 1 ? world_rank + 1 : way == 2 ? world_rank : world_size;
                if (way == 2 && world_rank == 0) {
                    wanted[i] = got[i];
                    continue;
                }
                for (int r = wanted[i] = first; r < end; r++) wanted[i] = (way == 3 || r == 0 ? 0 : wanted[i]) + element(r, 0, i);
            }
            switch (way) {
            case 0: CHECK_CALL(MPI_Allreduce(from, got, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD)); break;
            case 1: CHECK_CALL(MPI_Scan(from, got, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD)); break;
            case 2: CHECK_CALL(MPI_Exscan(from, got, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD)); break;
            default: CHECK_CALL(MPI_Allreduce(from, got, n, MPI_LONG, MPI_MAX, MPI_COMM_WORLD));
            }
            check_got(n + 1);
        }

        for (int r = 0; r < world_size; r++) {
            counts[r] = r == 1 ? n / 2 : n;
            places[r] = (world_size - 1 - r) * (n + 2);
        }
        clear();
        for (int i = 0; i < counts[world_rank]; i++) {
            sent[i] = element(world_rank, 0, i);
            if (in_place) got[places[world_rank] + i] = sent[i];
        }
        for (int r = 0; r < world_size; r++)
            for (int i = 0; i < counts[r]; i++) wanted[places[r] + i] = element(r, 0, i);
        CHECK_CALL(MPI_Allgatherv(from, counts[world_rank], MPI_LONG, got, counts, places, MPI_LONG, MPI_COMM_WORLD));
        check_got(PLACES);
    }

    clear();
    for (int r = 0; r < world_size; r++)
        for (int i = 0; i < n; i++) {
            sent[r * n + i] = element(world_rank, r, i);
            wanted[r * n + i] = element(r, world_rank, i);
        }
    CHECK_CALL(MPI_Alltoall(sent, n, MPI_LONG, got, n, MPI_LONG, MPI_COMM_WORLD));
    check_got(world_size * n + 1);

    /* From rank r to rank s go n elements, or half as many if the two are neighbours. */
    clear();
    for (int r = 0; r < world_size; r++) {
        counts[r] = (r + world_rank) % 2 ? n / 2 : n;
        places[r] = (world_size - 1 - r) * (n + 2);
        back_places[r] = r * (n + 1);
        for (int i = 0; i < counts[r]; i++) {
            sent[back_places[r] + i] = element(world_rank, r, i);
            wanted[places[r] + i] = element(r, world_rank, i);
        }
    }
    CHECK_CALL(MPI_Alltoallv(sent, counts, back_places, MPI_LONG, got, counts, places, MPI_LONG, MPI_COMM_WORLD));
    check_got(PLACES);
    CHECK_CALL(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    for (int at = 0; at < LENGTHS; at++)
        of_everybody(lengths[at]);
    return finish();
}
