/* ranks: 2 */
/* MPI 5.0 section 5.1.6 and 5.1.7: a struct type resized to sizeof describes an array of C structs; the padding is
 * neither sent nor written. */
#include "check.h"
#include <stddef.h>

struct particle { char kind; double mass; short charge; };

int main(int argc, char **argv)
{
    struct particle list[20];
    int lengths[3] = {1, 1, 1}, count = -1, elements = -1, size = -1;
    MPI_Aint places[3] = {offsetof(struct particle, kind), offsetof(struct particle, mass), offsetof(struct particle, charge)};
    MPI_Aint lower, extent;
    MPI_Datatype kinds[3] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT}, raw, type;
    MPI_Status status;
    start(&argc, &argv);
    MPI_Type_create_struct(3, lengths, places, kinds, &raw);
    MPI_Type_create_resized(raw, 0, sizeof(struct particle), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&raw);
    MPI_Type_get_extent(type, &lower, &extent);
    MPI_Type_size(type, &size);
    CHECK_INT(lower, 0);
    CHECK_INT(extent, sizeof(struct particle));
    CHECK_INT(size, sizeof(char) + sizeof(double) + sizeof(short));
    memset(list, 0xAA, sizeof list);
    if (world_rank == 0) {
        for (int i = 0; i < 20; i++) {
            list[i].kind = 'a' + i;
            list[i].mass = i / 2.0;
            list[i].charge = -i;
        }
        MPI_Send(list, 20, type, 1, 0, MPI_COMM_WORLD);
    } else {
        MPI_Recv(list, 20, type, 0, 0, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, type, &count);
        MPI_Get_elements(&status, type, &elements);
        CHECK_INT(count, 20);
        CHECK_INT(elements, 60);
        for (int i = 0; i < 20; i++) {
            CHECK_INT(list[i].kind, 'a' + i);
            CHECK_DOUBLE(list[i].mass, i / 2.0);
            CHECK_INT(list[i].charge, -i);
            CHECK_INT(((unsigned char *)&list[i])[1], 0xAA);
        }
    }
    MPI_Type_free(&type);
    return finish();
}
