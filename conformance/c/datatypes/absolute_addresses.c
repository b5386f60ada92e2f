/* ranks: 2 */
/* MPI 5.0 section 5.1.12: with displacements from MPI_Get_address and MPI_BOTTOM as buffer, one type gathers variables
 * that lie anywhere. MPI_Aint_diff and MPI_Aint_add compute with addresses. */
#include "check.h"

static double on_static;

int main(int argc, char **argv)
{
    int on_stack[2] = {0};
    char *on_heap = malloc(10);
    MPI_Aint places[3], second;
    MPI_Datatype type;
    start(&argc, &argv);
    memset(on_heap, 0, 10);
    MPI_Get_address(&on_static, &places[0]);
    MPI_Get_address(on_stack, &places[1]);
    MPI_Get_address(on_heap, &places[2]);
    MPI_Get_address(&on_stack[1], &second);
    CHECK_INT(MPI_Aint_diff(second, places[1]), sizeof(int));
    CHECK_INT(MPI_Aint_add(places[1], sizeof(int)), second);
    MPI_Type_create_struct(3, (int[]){1, 2, 10}, places, (MPI_Datatype[]){MPI_DOUBLE, MPI_INT, MPI_CHAR}, &type);
    MPI_Type_commit(&type);
    if (world_rank == 0) {
        on_static = 2.5;
        on_stack[0] = 3;
        on_stack[1] = 4;
        strcpy(on_heap, "anywhere");
    }
    CHECK_CALL(MPI_Bcast(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD));
    CHECK_DOUBLE(on_static, 2.5);
    CHECK_INT(on_stack[0], 3);
    CHECK_INT(on_stack[1], 4);
    CHECK_STRING(on_heap, "anywhere");
    MPI_Type_free(&type);
    free(on_heap);
    return finish();
}
