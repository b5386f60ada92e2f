/* ranks: 1 2 3 4 */
/* MPI 5.0 §14.3, §14.4: with a view of every size-th block, what the ranks write together is what a byte-wise
 * interleaving gives, whichever way the library moves it; blocking, nonblocking and split calls do the same. Blocks of
 * several lengths, contiguous and scattered memory. */
#include "file_name.h"

enum { BLOCKS = 700 };

static unsigned char value(int rank, int block, int byte, int turn) { return (unsigned char)(rank * 61 + block * 7 + byte * 3 + turn * 11 + 1); }

static void fill(unsigned char *data, int rank, int block, int stride, int turn)
{
    for (int i = 0; i < BLOCKS; i++)
        for (int j = 0; j < block; j++) data[i * stride + j] = value(rank, i, j, turn);
}

static void one(const char *name, int block, int scattered, int turn)
{
    MPI_File file;
    MPI_Datatype piece, tile, memory;
    MPI_Status status;
    MPI_Request request;
    int stride = scattered ? block + 5 : block, count, bad = 0;
    unsigned char *data = calloc(BLOCKS, stride), *got = calloc(BLOCKS, stride), *all = malloc((size_t)BLOCKS * block * world_size);
    MPI_Type_contiguous(block, MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, (MPI_Aint)block * world_size, &tile);
    MPI_Type_commit(&tile);
    MPI_Type_create_hvector(BLOCKS, block, stride, MPI_BYTE, &memory);
    MPI_Type_commit(&memory);
    CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    CHECK_CALL(MPI_File_set_view(file, (MPI_Offset)world_rank * block, MPI_BYTE, tile, "native", MPI_INFO_NULL));
    fill(data, world_rank, block, stride, turn);
    switch (turn) {
    case 0: CHECK_CALL(MPI_File_write_all(file, data, 1, memory, &status)); break;
    case 1: CHECK_CALL(MPI_File_write_at_all(file, 0, data, 1, memory, &status)); break;
    case 2:
        CHECK_CALL(MPI_File_iwrite_all(file, data, 1, memory, &request));
        CHECK_CALL(MPI_Wait(&request, &status));
        break;
    case 3:
        CHECK_CALL(MPI_File_write_all_begin(file, data, 1, memory));
        CHECK_CALL(MPI_File_write_all_end(file, data, &status));
        break;
    case 4: CHECK_CALL(MPI_File_write(file, data, 1, memory, &status)); break;
    case 5:
        CHECK_CALL(MPI_File_iwrite_at(file, 0, data, 1, memory, &request));
        CHECK_CALL(MPI_Wait(&request, &status));
        break;
    }
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK_INT(count, BLOCKS * block);
    CHECK_CALL(MPI_File_sync(file));
    MPI_Barrier(MPI_COMM_WORLD);
    switch (turn) {
    case 0: MPI_File_seek(file, 0, MPI_SEEK_SET); CHECK_CALL(MPI_File_read_all(file, got, 1, memory, &status)); break;
    case 1: CHECK_CALL(MPI_File_read_at_all(file, 0, got, 1, memory, &status)); break;
    case 2:
        CHECK_CALL(MPI_File_iread_at_all(file, 0, got, 1, memory, &request));
        CHECK_CALL(MPI_Wait(&request, &status));
        break;
    case 3:
        CHECK_CALL(MPI_File_read_at_all_begin(file, 0, got, 1, memory));
        CHECK_CALL(MPI_File_read_at_all_end(file, got, &status));
        break;
    case 4: CHECK_CALL(MPI_File_read_at(file, 0, got, 1, memory, &status)); break;
    case 5:
        CHECK_CALL(MPI_File_iread_at(file, 0, got, 1, memory, &request));
        CHECK_CALL(MPI_Wait(&request, &status));
        break;
    }
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK_INT(count, BLOCKS * block);
    for (int i = 0; i < BLOCKS; i++)
        for (int j = 0; j < stride; j++) {
            int wanted = j < block ? value(world_rank, i, j, turn) : 0;
            bad += got[i * stride + j] != wanted;
        }
    CHECK_INT(bad, 0);
    CHECK_CALL(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    CHECK_CALL(MPI_File_read_at(file, 0, all, BLOCKS * block * world_size, MPI_BYTE, &status));
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK_INT(count, BLOCKS * block * world_size);
    bad = 0;
    for (int i = 0; i < BLOCKS; i++)
        for (int rank = 0; rank < world_size; rank++)
            for (int j = 0; j < block; j++) bad += all[(i * world_size + rank) * block + j] != value(rank, i, j, turn);
    CHECK_INT(bad, 0);
    CHECK_CALL(MPI_File_close(&file));
    MPI_Type_free(&piece);
    MPI_Type_free(&tile);
    MPI_Type_free(&memory);
    free(data);
    free(got);
    free(all);
}

int main(int argc, char **argv)
{
    char name[64];
    int blocks[] = {1, 8, 100, 4096};
    start(&argc, &argv);
    file_name(name, sizeof name, "interleaved");
    for (int b = 0; b < 4; b++)
        for (int scattered = 0; scattered < 2; scattered++)
            for (int turn = 0; turn < 6; turn++) one(name, blocks[b], scattered, turn);
    return finish();
}
