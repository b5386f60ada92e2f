/* ranks: 1 2 3 4 */
/* skip-mpich: ROMIO 5.0.2 counts what lies behind the end */
/* MPI 5.0 chapter 14: random views, datatypes and accesses of every kind, by seed, against a file that every rank keeps
 * byte by byte. All ranks draw all ranks' accesses; of those that would meet in the file, one writes nothing. */
#include "file_name.h"

enum { KINDS = 7 };
static MPI_Datatype basics[KINDS];
static const int sizes[KINDS] = {1, 1, 2, 4, 4, 8, 8};
#include "../random_types.h"

enum { FILE_MAX = 8 << 20, RANKS_MAX = 16, ROUNDS = 20, PENDING_MAX = 3, MARGIN = 32 };
enum where { EXPLICIT, INDIVIDUAL, SHARED };
enum form { BLOCKING, NONBLOCKING, SPLIT };

static struct view {
    long disp;
    struct type etype, tile;
} views[RANKS_MAX];
static int has_views, is_common, is_external;

static MPI_File file;
static unsigned char *oracle, *taken;
static long length, pointers[RANKS_MAX], shared;

struct access {
    struct type memory;
    int count;
    long from, elements, found; /* the first etype; elements of the access, and of the file before its end */
    long bytes, base;           /* of the buffers, and where in them the address points */
    unsigned char *buffer, *wanted;
};

static void forget(struct access *access)
{
    release(&access->memory);
    free(access->buffer);
    free(access->wanted);
}

static long place_of(const struct view *view, long element)
{
    return view->disp + place_in(&view->tile, element);
}

static struct type new_etype(void)
{
    struct type basic = basic_type((int)below(KINDS)), made;
    long at[] = {0, 1, 2};
    switch (below(4)) {
    case 0: return basic;
    case 1:
        made = copies_of(&basic, 3, at, 0);
        MPI_Type_contiguous(3, basic.type, &made.type);
        break;
    case 2:
        at[1] = 2;
        made = copies_of(&basic, 2, at, 0);
        MPI_Type_vector(2, 1, 2, basic.type, &made.type);
        break;
    default: { /* values of two kinds, with holes */
        int second = (int)below(KINDS), ones[] = {1, 1};
        MPI_Aint places[] = {0, basic.ub + 3};
        MPI_Datatype types[] = {basic.type, basics[second]}, structure;
        made = room_for(2);
        made.kind[0] = basic.kind[0], made.kind[1] = (unsigned char)second;
        made.at[0] = 0, made.at[1] = places[1];
        made.ub = places[1] + sizes[second] + 1;
        MPI_Type_create_struct(2, ones, places, types, &structure);
        MPI_Type_create_resized(structure, 0, made.ub, &made.type);
        MPI_Type_free(&structure);
    }
    }
    release(&basic);
    return made;
}

/* A block for each rank in turn, as most programs have it. */
static struct type one_of_turns(const struct type *etype, long block)
{
    long at[200];
    for (long i = 0; i < block; i++) at[i] = i;
    struct type all = copies_of(etype, (int)block, at, 0);
    MPI_Type_contiguous((int)block, etype->type, &all.type);
    struct type made = resized(&all, 0, extent_of(&all) * world_size);
    MPI_Type_commit(&made.type);
    release(&all);
    return made;
}

static void set_views(void)
{
    const char *forms[] = {"native", "internal", "external32"};
    struct type etype = new_etype();
    long disp = below(500), turns = below(3) == 0 ? between(1, 200) : 0;
    uint64_t before = random_state;
    is_common = (int)below(2);
    for (int rank = 0; rank < world_size; rank++) {
        struct view *view = &views[rank];
        if (has_views) release(&view->etype), release(&view->tile);
        if (is_common) random_state = before;
        view->etype = same_as(&etype);
        MPI_Type_commit(&view->etype.type);
        view->disp = disp + (is_common ? 0 : turns > 0 ? rank * turns * extent_of(&etype) : below(500));
        view->tile = turns > 0 ? one_of_turns(&etype, turns) : grown(&etype, (int)below(4), extent_of(&etype), 1);
        pointers[rank] = 0;
    }
    has_views = 1;
    shared = 0;
    release(&etype);
    int form = (int)below(3);
    is_external = form == 2;
    struct view *own = &views[world_rank];
    CHECK_CALL(MPI_File_set_view(file, own->disp, own->etype.type, own->tile.type, forms[form], MPI_INFO_NULL));
}

/* Between an element of the oracle and one in memory, which have another order of bytes in external32. */
static void convert(unsigned char *to, const unsigned char *from, int bytes)
{
    for (int i = 0; i < bytes; i++) to[i] = from[is_external ? bytes - 1 - i : i];
}

/* Whether an access would write what another one of its round writes; if not, its bytes are taken. */
static int meets(const struct view *view, long first, long elements)
{
    for (int pass = 0; pass < 2; pass++)
        for (long i = 0; i < elements; i++) {
            long place = place_of(view, first + i);
            for (int j = 0; j < sizes[view->tile.kind[(first + i) % view->tile.elements]]; j++) {
                if (pass == 1) taken[place + j] = 1;
                else if (taken[place + j]) return 1;
            }
        }
    return 0;
}

/* Draws an access of a rank, and lets the oracle have it. */
static struct access drawn(int rank, long from, int writes)
{
    const struct view *view = &views[rank];
    struct access access = {.memory = grown(&view->etype, (int)below(4), 1, 0), .from = from};
    long scale = below(6) == 0 ? 8000 : below(3) ? 300 : 2000, first = from * view->etype.elements, low, high;
    access.count = below(5) == 0 ? 0 : (int)between(1, 1 + scale / access.memory.elements);
    access.elements = (long)access.count * access.memory.elements;
    int is_far = access.elements > 0 && place_of(view, first + access.elements - 1) + 16 > FILE_MAX;
    if (is_far || (writes && meets(view, first, access.elements))) access.count = 0, access.elements = 0;
    span_of(&access.memory, access.count, &low, &high);
    access.base = MARGIN - low;
    access.bytes = high - low + 2 * MARGIN;
    access.buffer = memset(malloc((size_t)access.bytes), 0xee, (size_t)access.bytes);
    access.wanted = memset(malloc((size_t)access.bytes), 0xee, (size_t)access.bytes);
    for (; access.found < access.elements; access.found++) {
        long place = place_of(view, first + access.found), here = access.base + place_in(&access.memory, access.found);
        int bytes = sizes[access.memory.kind[access.found % access.memory.elements]];
        if (writes) {
            for (int j = 0; j < bytes; j++) access.buffer[here + j] = access.wanted[here + j] = (unsigned char)below(256);
            convert(oracle + place, access.buffer + here, bytes);
            if (place + bytes > length) length = place + bytes;
        } else if (place + bytes > length) break;
        else convert(access.wanted + here, oracle + place, bytes);
    }
    return access;
}

static void judge(const struct access *access, MPI_Status *status)
{
    MPI_Count elements = -1;
    long found = access->found, etype = views[world_rank].etype.elements;
    MPI_Get_elements_c(status, access->memory.type, &elements);
    /* What is converted is converted in whole etypes. An end of the file inside of an element leaves the number open. */
    if (is_external && found < access->elements) found -= found % etype;
    if (is_external || found == access->elements || elements != MPI_UNDEFINED) CHECK_INT(elements, found);
    if (found == access->elements && access->count > 0) CHECK_INT(count_of(status, access->memory.type), access->count);
    if (found == access->elements) CHECK_BYTES(access->buffer, access->wanted, (size_t)access->bytes);
    for (long i = 0; i < found && found < access->elements; i++) {
        long here = access->base + place_in(&access->memory, i);
        int bytes = sizes[access->memory.kind[i % access->memory.elements]];
        CHECK_BYTES(access->buffer + here, access->wanted + here, (size_t)bytes);
    }
}

/* Both directions of a call. */
#define WAY(read, write, ...) CHECK_CALL(writes ? write(__VA_ARGS__) : read(__VA_ARGS__))

static void alone(struct access *access, int writes, enum where where, enum form form, MPI_Status *status,
                  MPI_Request *request)
{
    void *data = access->buffer + access->base;
    int count = access->count;
    MPI_Datatype type = access->memory.type;
    MPI_Offset from = access->from;
    if (form == NONBLOCKING && where == EXPLICIT)
        WAY(MPI_File_iread_at, MPI_File_iwrite_at, file, from, data, count, type, request);
    else if (form == NONBLOCKING && where == INDIVIDUAL)
        WAY(MPI_File_iread, MPI_File_iwrite, file, data, count, type, request);
    else if (form == NONBLOCKING) WAY(MPI_File_iread_shared, MPI_File_iwrite_shared, file, data, count, type, request);
    else if (where == EXPLICIT) WAY(MPI_File_read_at, MPI_File_write_at, file, from, data, count, type, status);
    else if (where == INDIVIDUAL) WAY(MPI_File_read, MPI_File_write, file, data, count, type, status);
    else WAY(MPI_File_read_shared, MPI_File_write_shared, file, data, count, type, status);
}

static void together(struct access *access, int writes, enum where where, enum form form, MPI_Status *status,
                     MPI_Request *request)
{
    void *data = access->buffer + access->base;
    int count = access->count;
    MPI_Datatype type = access->memory.type;
    MPI_Offset from = access->from, now;
    if (form == NONBLOCKING && where == EXPLICIT)
        WAY(MPI_File_iread_at_all, MPI_File_iwrite_at_all, file, from, data, count, type, request);
    else if (form == NONBLOCKING && where == INDIVIDUAL)
        WAY(MPI_File_iread_all, MPI_File_iwrite_all, file, data, count, type, request);
    else if (form == SPLIT && where == EXPLICIT) {
        WAY(MPI_File_read_at_all_begin, MPI_File_write_at_all_begin, file, from, data, count, type);
        CHECK_CALL(MPI_File_get_position(file, &now));
        CHECK_INT(now, pointers[world_rank]);
        WAY(MPI_File_read_at_all_end, MPI_File_write_at_all_end, file, data, status);
    } else if (form == SPLIT && where == INDIVIDUAL) {
        WAY(MPI_File_read_all_begin, MPI_File_write_all_begin, file, data, count, type);
        WAY(MPI_File_read_all_end, MPI_File_write_all_end, file, data, status);
    } else if (form == SPLIT) {
        WAY(MPI_File_read_ordered_begin, MPI_File_write_ordered_begin, file, data, count, type);
        WAY(MPI_File_read_ordered_end, MPI_File_write_ordered_end, file, data, status);
    } else if (where == EXPLICIT) WAY(MPI_File_read_at_all, MPI_File_write_at_all, file, from, data, count, type, status);
    else if (where == INDIVIDUAL) WAY(MPI_File_read_all, MPI_File_write_all, file, data, count, type, status);
    else WAY(MPI_File_read_ordered, MPI_File_write_ordered, file, data, count, type, status);
}

/* Some accesses of every rank, all reading or all writing. */
static void access_round(int is_atomic)
{
    int writes = below(5) < 3, is_collective = (int)below(2), forward = (int)below(2), forms[RANKS_MAX];
    enum where where = below(is_common ? 3 : 2);
    enum form form = below(3);
    if (where == SHARED && is_collective && form == NONBLOCKING) form = BLOCKING;
    int number = form == NONBLOCKING && where != SHARED ? (int)between(1, PENDING_MAX) : 1;
    struct access mine[PENDING_MAX];
    MPI_Status statuses[PENDING_MAX];
    MPI_Request requests[PENDING_MAX];
    MPI_Offset now;
    memset(taken, 0, FILE_MAX);
    for (int rank = 0; rank < world_size; rank++) forms[rank] = (int)below(2);
    for (int i = 0; i < number; i++)
        for (int rank = 0; rank < world_size; rank++) {
            long *pointer = where == SHARED ? &shared : &pointers[rank];
            struct access access = drawn(rank, where == EXPLICIT ? below(1500) : *pointer, writes);
            if (where != EXPLICIT) *pointer += access.elements / views[rank].etype.elements;
            if (rank == world_rank) mine[i] = access;
            else forget(&access);
        }
    for (int i = 0; i < number; i++) {
        requests[i] = MPI_REQUEST_NULL;
        if (is_collective) together(&mine[i], writes, where, form, &statuses[i], &requests[i]);
        else if (where != SHARED) alone(&mine[i], writes, where, forms[world_rank], &statuses[i], &requests[i]);
        else
            for (int rank = 0; rank < world_size; rank++) { /* one after the other, so that the order is known */
                if (rank == world_rank) {
                    alone(&mine[i], writes, where, forms[rank], &statuses[i], &requests[i]);
                    if (requests[i] != MPI_REQUEST_NULL) CHECK_CALL(MPI_Wait(&requests[i], &statuses[i]));
                }
                MPI_Barrier(MPI_COMM_WORLD);
            }
    }
    for (int i = 0; i < number; i++) {
        int next = forward ? i : number - 1 - i;
        if (requests[next] != MPI_REQUEST_NULL) CHECK_CALL(MPI_Wait(&requests[next], &statuses[next]));
    }
    for (int i = 0; i < number; i++) judge(&mine[i], &statuses[i]), forget(&mine[i]);
    if (!is_atomic) sync_all(file);
    MPI_Barrier(MPI_COMM_WORLD);
    /* Where the end of the file leaves a pointer is not looked at. */
    CHECK_CALL(MPI_File_get_position(file, &now));
    if (where != INDIVIDUAL || writes) CHECK_INT(now, pointers[world_rank]);
    else CHECK_CALL(MPI_File_seek(file, pointers[world_rank], MPI_SEEK_SET));
    if (is_common) {
        CHECK_CALL(MPI_File_get_position_shared(file, &now));
        if (where != SHARED || writes) CHECK_INT(now, shared);
        MPI_Barrier(MPI_COMM_WORLD);
        if (where == SHARED && !writes) CHECK_CALL(MPI_File_seek_shared(file, shared, MPI_SEEK_SET));
    }
    CHECK_CALL(MPI_File_get_size(file, &now));
    CHECK_INT(now, length);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void seek_round(void)
{
    MPI_Offset now, byte;
    for (int rank = 0; rank < world_size; rank++) {
        int is_relative = (int)below(2);
        long by = is_relative ? between(-1000, 1000) : below(2000);
        if (is_relative && pointers[rank] + by < 0) by = 0;
        pointers[rank] = is_relative ? pointers[rank] + by : by;
        if (rank == world_rank) CHECK_CALL(MPI_File_seek(file, by, is_relative ? MPI_SEEK_CUR : MPI_SEEK_SET));
    }
    const struct view *own = &views[world_rank];
    CHECK_CALL(MPI_File_get_position(file, &now));
    CHECK_INT(now, pointers[world_rank]);
    CHECK_CALL(MPI_File_get_byte_offset(file, now, &byte));
    CHECK_INT(byte, place_of(own, pointers[world_rank] * own->etype.elements));
    if (is_common) {
        shared = below(3000);
        CHECK_CALL(MPI_File_seek_shared(file, shared, MPI_SEEK_SET));
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void size_round(void)
{
    MPI_Offset now;
    long size = below(length + 3000);
    if (below(3) == 0) {
        CHECK_CALL(MPI_File_preallocate(file, size));
        if (size < length) size = length;
    } else CHECK_CALL(MPI_File_set_size(file, size));
    if (size < length) memset(oracle + size, 0, (size_t)(length - size));
    length = size;
    CHECK_CALL(MPI_File_get_size(file, &now));
    CHECK_INT(now, length);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void open_it(const char *name, int mode)
{
    const char *forces[] = {"automatic", "enable", "disable"}, *buffers[] = {"4096", "65536", "16777216"};
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", forces[below(3)]);
    MPI_Info_set(info, "romio_cb_read", forces[below(3)]);
    MPI_Info_set(info, "romio_ds_write", forces[below(3)]);
    MPI_Info_set(info, "romio_ds_read", forces[below(3)]);
    MPI_Info_set(info, "cb_buffer_size", buffers[below(3)]);
    MPI_Info_set(info, "striping_unit", below(2) ? "512" : "4096");
    if (below(2)) MPI_Info_set(info, "cb_nodes", "1");
    if (below(2)) MPI_Info_set(info, "ind_rd_buffer_size", "4096");
    CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, name, mode, info, &file));
    MPI_Info_free(&info);
    set_views();
}

static void program(const char *name)
{
    int is_atomic = 0;
    length = 0;
    memset(oracle, 0, FILE_MAX);
    open_it(name, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR);
    for (int round = 0; round < ROUNDS && check_failures == 0; round++)
        switch (below(12)) {
        case 0: set_views(); break;
        case 1: size_round(); break;
        case 2: seek_round(); break;
        case 3:
            is_atomic = !is_atomic;
            CHECK_CALL(MPI_File_set_atomicity(file, is_atomic));
            break;
        case 4:
            CHECK_CALL(MPI_File_close(&file));
            open_it(name, MPI_MODE_RDWR);
            is_atomic = 0;
            break;
        default: access_round(is_atomic);
        }
    CHECK_CALL(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    MPI_Status status;
    CHECK_CALL(MPI_File_read_at_all(file, 0, taken, (int)length, MPI_BYTE, &status));
    CHECK_INT(count_of(&status, MPI_BYTE), length);
    CHECK_BYTES(taken, oracle, (size_t)length);
    CHECK_CALL(MPI_File_close(&file));
    if (world_rank == 0) CHECK_CALL(MPI_File_delete(name, MPI_INFO_NULL));
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Datatype all[KINDS] = {MPI_BYTE, MPI_CHAR, MPI_SHORT, MPI_INT, MPI_FLOAT, MPI_DOUBLE, MPI_LONG_LONG};
    char name[64];
    long first, last;
    int failed = 0;
    start(&argc, &argv);
    memcpy(basics, all, sizeof basics);
    oracle = malloc(FILE_MAX);
    taken = malloc(FILE_MAX);
    file_name(name, sizeof name, "random");
    seeds_of(argc, argv, &first, &last);
    for (long seed = first; seed <= last && !failed; seed++) {
        seeded((uint64_t)seed);
        program(name);
        MPI_Allreduce(&check_failures, &failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (failed && world_rank == 0) printf("seed %ld failed\n", seed);
    }
    for (int rank = 0; rank < world_size; rank++) release(&views[rank].etype), release(&views[rank].tile);
    free(oracle);
    free(taken);
    return finish();
}
