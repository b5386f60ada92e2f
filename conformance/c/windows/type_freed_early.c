/* ranks: 1 2 3 */
/* MPI 5.0 sections 5.1.9 and 12.3: freeing a datatype does not disturb pending operations that use
 * it, on either side. */
#include "check.h"

enum { COUNT = 5000 };

int main(int argc, char **argv)
{
    static int own[2 * COUNT], values[3 * COUNT];
    MPI_Win win;
    start(&argc, &argv);
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    for (int i = 0; i < 3 * COUNT; i++) values[i] = world_rank + i;
    for (int i = 0; i < 2 * COUNT; i++) own[i] = -1;
    MPI_Win_create(own, sizeof own, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Datatype third, second;
    MPI_Type_vector(COUNT, 1, 3, MPI_INT, &third);
    MPI_Type_vector(COUNT, 1, 2, MPI_INT, &second);
    MPI_Type_commit(&third), MPI_Type_commit(&second);
    CHECK_CALL(MPI_Put(values, 1, third, right, 0, 1, second, win));
    MPI_Type_free(&third), MPI_Type_free(&second);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 2 * COUNT; i++) CHECK_INT(own[i], i % 2 ? -1 : left + i / 2 * 3);
    MPI_Win_free(&win);
    return finish();
}
