/* ranks: 1 2 */
/* MPI 5.0 chapter 11, MPI_Init: an implementation must accept NULL for argc and argv in C. */
#include "check.h"

int main(void)
{
    CHECK_INT(MPI_Init(NULL, NULL), MPI_SUCCESS);
    started();
    CHECK(world_size >= 1);
    CHECK(world_rank >= 0 && world_rank < world_size);
    return finish();
}
