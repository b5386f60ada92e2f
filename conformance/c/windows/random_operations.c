/* ranks: 1 2 3 */
/* skip-mpich: MPICH 5.0.2 packs some types with negative strides from other places */
/* MPI 5.0 chapter 12: random operations with derived types on both sides, every predefined type and operation, every kind
 * of window and of epoch, by seed, against windows that every rank keeps byte by byte. All ranks draw all operations. In a
 * round each byte of a window has one use, for which the standard defines the outcome: written by one put, read by gets,
 * accumulated by one rank (which is ordered), or by all with one commutative operation. */
#include "check.h"

enum { KINDS = 26 };
static MPI_Datatype basics[KINDS];
static int sizes[KINDS];
#include "../random_types.h"

enum { BYTES = 40000, OPERATIONS = 40, RANKS_MAX = 8, ROUNDS = 10, MARGIN = 32, VALUE_MAX = 16 };
enum family { INTEGER, REAL, COMPLEX, LOGICAL, BITS, PAIR };
enum operator { SUM, PROD, MIN, MAX, BAND, BOR, BXOR, LAND, LOR, LXOR, MINLOC, MAXLOC, REPLACE, NO_OP, OPERATORS };
enum call { PUT, GET, ACCUMULATE, GET_ACCUMULATE, FETCH_AND_OP, COMPARE_AND_SWAP, CALLS };
enum flavor { CREATED, ALLOCATED_FIRST, ALLOCATED, SHARED, DYNAMIC, FLAVORS };
enum epoch { FENCE, LOCK_ALL, POST_START, LOCK, EPOCHS };
enum use { FREE, WRITTEN, READ, ORDERED, COMMUTED };

static const enum family families[KINDS] = {[16] = REAL, REAL, REAL, COMPLEX, COMPLEX, LOGICAL, BITS, PAIR, PAIR, INTEGER};
static MPI_Op operators[OPERATORS];

static struct byte_use {
    int use, who, operator, kind, shift;
} *uses[RANKS_MAX];
static unsigned char *oracle[RANKS_MAX], *padding[RANKS_MAX]; /* padding of a long double holds anything */
static int units[RANKS_MAX], regions;
static enum flavor flavor;

static struct operation {
    enum call call;
    int origin, target, operator, kind, is_requested, is_left_out, is_known;
    long at; /* in the target's window */
    struct type types[3]; /* origin, result, target */
    int counts[3], total;
    uint64_t seed;
    unsigned char *out, *in, *wanted;
    long in_bytes, out_base, in_base;
    _Alignas(16) unsigned char one[VALUE_MAX], compare[VALUE_MAX], found[VALUE_MAX], before[VALUE_MAX];
} plan[OPERATIONS];
static int planned;

static int is_single(const struct operation *op)
{
    return op->call == FETCH_AND_OP || op->call == COMPARE_AND_SWAP;
}

static int fits(int kind, enum operator operator)
{
    if (operator >= REPLACE) return 1;
    switch (families[kind]) {
    case INTEGER: return operator <= LXOR;
    case REAL: return operator <= MAX;
    case COMPLEX: return operator <= PROD;
    case LOGICAL: return operator >= LAND && operator <= LXOR;
    case BITS: return operator >= BAND && operator <= BXOR;
    default: return operator == MINLOC || operator == MAXLOC;
    }
}

/* Bytes of a value that mean something. */
static int used(int kind)
{
    return basics[kind] == MPI_LONG_DOUBLE ? 10 : sizes[kind];
}

static void value_of(int kind, uint64_t seed, unsigned char *value)
{
    uint64_t mixed = seed * 0x9e3779b97f4a7c15u;
    mixed ^= mixed >> 29, mixed *= 0xbf58476d1ce4e5b9u, mixed ^= mixed >> 32;
    int few = (int)(mixed % 2001) - 1000, index = (int)(mixed >> 40);
    float singles[2] = {(float)(few % 7), (float)(few % 5)};
    double doubles[2] = {few % 7, few % 5}, real = few / 8.0;
    float single = (float)real;
    long double quad = real;
    memset(value, 0, VALUE_MAX);
    if (families[kind] == INTEGER || families[kind] == BITS) memcpy(value, &mixed, 8);
    else if (families[kind] == LOGICAL) value[0] = mixed & 1;
    else if (basics[kind] == MPI_FLOAT) memcpy(value, &single, sizeof single);
    else if (basics[kind] == MPI_DOUBLE) memcpy(value, &real, sizeof real);
    else if (basics[kind] == MPI_LONG_DOUBLE) memcpy(value, &quad, 10);
    else if (basics[kind] == MPI_C_FLOAT_COMPLEX) memcpy(value, singles, sizeof singles);
    else if (basics[kind] == MPI_C_DOUBLE_COMPLEX) memcpy(value, doubles, sizeof doubles);
    else { /* a pair of a value and an index */
        int whole = few % 9;
        if (basics[kind] == MPI_2INT) memcpy(value, &whole, 4);
        else memcpy(value, singles, 4);
        memcpy(value + 4, &index, 4);
    }
}

static long target_place(const struct operation *op, int element)
{
    return op->at + place_in(&op->types[2], element);
}

/* Whether the bytes of an operation have no other use yet; if so, they are its own from now on. */
static int takes(const struct operation *op, struct byte_use use)
{
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < op->total; i++) {
            long place = target_place(op, i);
            if (use.use >= ORDERED) use.shift = (int)(place % sizes[op->kind]);
            struct byte_use *at = &uses[op->target][place];
            if (pass == 1 && use.use >= ORDERED && at->use == FREE) { /* memory with a value of the type, to begin with */
                value_of(op->kind, op->seed ^ (uint64_t)place << 20, oracle[op->target] + place);
                memset(padding[op->target] + place, 0, (size_t)sizes[op->kind]);
                memset(padding[op->target] + place + used(op->kind), 1, (size_t)(sizes[op->kind] - used(op->kind)));
            }
            for (int j = 0; j < sizes[op->kind]; j++) {
                if (pass == 1) at[j] = use;
                else if (at[j].use != FREE && memcmp(&at[j], &use, sizeof use) != 0) return 0;
            }
        }
    return 1;
}

/* Chooses a place for an operation; says whether there is one. */
static int is_placed(struct operation *op)
{
    long low, high, unit = units[op->target], size = sizes[op->kind], part = BYTES / regions;
    span_of(&op->types[2], op->counts[2], &low, &high);
    if (high - low + VALUE_MAX >= BYTES) return 0;
    op->at = (below(BYTES - VALUE_MAX - (high - low)) - low) / unit * unit;
    if (below(4)) op->at = op->at / (size > unit ? size : unit) * (size > unit ? size : unit);
    long first = op->at + low, last = op->at + high - (high > low);
    if (op->at < 0 || first < 0 || last >= BYTES - VALUE_MAX) return 0;
    if (flavor == DYNAMIC && first / part != last / part) return 0;
    struct byte_use use = {.use = WRITTEN, .who = planned + 1};
    int commutes = families[op->kind] == INTEGER && op->operator <= LXOR && op->operator != PROD;
    if (op->call == GET) use = (struct byte_use){.use = READ};
    else if (op->call != PUT && op->call != COMPARE_AND_SWAP && commutes && below(2))
        use = (struct byte_use){.use = COMMUTED, .operator = op->operator, .kind = op->kind};
    else if (op->call != PUT) use = (struct byte_use){.use = ORDERED, .who = op->origin, .kind = op->kind};
    op->is_known = use.use != COMMUTED;
    return takes(op, use);
}

static void draw(void)
{
    planned = 0;
    for (int tries = 0; tries < OPERATIONS; tries++) {
        struct operation *op = &plan[planned];
        memset(op, 0, sizeof *op);
        op->call = below(CALLS);
        op->origin = (int)below(world_size);
        op->target = (int)below(world_size);
        op->kind = (int)below(KINDS);
        op->is_requested = below(3) == 0;
        do op->operator = (int)below(OPERATORS);
        while (!fits(op->kind, op->operator));
        if (op->call == ACCUMULATE && op->operator == NO_OP) op->operator = REPLACE;
        enum family family = families[op->kind];
        if (op->call == COMPARE_AND_SWAP && family != INTEGER && family != LOGICAL && family != BITS)
            op->call = FETCH_AND_OP;
        op->seed = (uint64_t)below(1L << 40);
        struct type basic = basic_type(op->kind);
        long grain = below(4) ? sizes[op->kind] : 1;
        int n[3], times = is_single(op) ? 1 : below(10) == 0 ? 0 : (int)between(1, below(8) == 0 ? 30 : 2), is_small = 1;
        for (int side = 0; side < 3; side++) {
            int depth = is_single(op) ? 0 : (int)below(3);
            op->types[side] = grown(&basic, depth, side == 2 ? grain : 1, side == 2);
            n[side] = op->types[side].elements;
            is_small &= n[side] <= 60;
        }
        release(&basic);
        if (op->call != GET_ACCUMULATE) n[1] = 1;
        op->counts[0] = times * n[1] * n[2], op->counts[1] = times * n[0] * n[2], op->counts[2] = times * n[0] * n[1];
        op->total = op->counts[2] * n[2];
        if (is_small && op->total <= 20000 && is_placed(op)) planned++;
        else
            for (int side = 0; side < 3; side++) release(&op->types[side]);
    }
}

static void combine(int kind, int operator, const unsigned char *value, unsigned char *with)
{
    _Alignas(16) unsigned char left[VALUE_MAX], right[VALUE_MAX];
    if (operator == REPLACE) memcpy(with, value, (size_t)used(kind));
    if (operator >= REPLACE) return;
    memcpy(left, value, VALUE_MAX);
    memcpy(right, with, (size_t)sizes[kind]);
    MPI_Reduce_local(left, right, 1, basics[kind], operators[operator]);
    memcpy(with, right, (size_t)used(kind));
}

static unsigned char *area(const struct type *type, int count, long *bytes, long *base)
{
    long low, high;
    span_of(type, count, &low, &high);
    *bytes = high - low + 2 * MARGIN;
    *base = MARGIN - low;
    return memset(malloc((size_t)*bytes), 0xdd, (size_t)*bytes);
}

/* Which of its types an operation reads into. */
static int result_side(const struct operation *op)
{
    return op->call == GET ? 0 : 1;
}

/* Does an operation in the oracle, and makes its memory where it is this rank's. */
static void foresee(struct operation *op)
{
    int kind = op->kind, is_mine = op->origin == world_rank && !is_single(op), side = result_side(op);
    int reads = op->call == GET || op->call == GET_ACCUMULATE;
    unsigned char *window = oracle[op->target], value[VALUE_MAX];
    long bytes;
    if (is_mine && op->call != GET) op->out = area(&op->types[0], op->counts[0], &bytes, &op->out_base);
    if (is_mine && reads) {
        op->in = area(&op->types[side], op->counts[side], &op->in_bytes, &op->in_base);
        op->wanted = area(&op->types[side], op->counts[side], &op->in_bytes, &op->in_base);
    }
    for (int i = 0; i < op->total; i++) {
        long place = target_place(op, i);
        value_of(kind, op->seed + (uint64_t)i, value);
        size_t size = (size_t)sizes[kind];
        if (op->in != NULL) memcpy(op->wanted + op->in_base + place_in(&op->types[side], i), window + place, size);
        if (op->out != NULL) memcpy(op->out + op->out_base + place_in(&op->types[0], i), value, size);
        if (is_single(op)) memcpy(op->one, value, VALUE_MAX), memcpy(op->before, window + place, (size_t)sizes[kind]);
        switch (op->call) {
        case GET: break;
        case PUT:
            memcpy(window + place, value, (size_t)sizes[kind]);
            memset(padding[op->target] + place, 0, (size_t)sizes[kind]);
            break;
        case COMPARE_AND_SWAP:
            memcpy(op->compare, window + place, (size_t)sizes[kind]);
            if (op->seed % 2) op->compare[0] ^= 1;
            else memcpy(window + place, value, (size_t)sizes[kind]);
            break;
        default: combine(kind, op->operator, value, window + place);
        }
    }
}

static MPI_Win window;
static unsigned char *memory;
static MPI_Aint addresses[RANKS_MAX];
static MPI_Request requests[OPERATIONS];
static int pending;

static void begin(struct operation *op, int may_request)
{
    MPI_Aint at = flavor == DYNAMIC ? MPI_Aint_add(addresses[op->target], op->at) : op->at / units[op->target];
    MPI_Datatype from = op->types[0].type, into = op->types[1].type, there = op->types[2].type, basic = basics[op->kind];
    void *out = op->out == NULL ? NULL : op->out + op->out_base, *in = op->in == NULL ? NULL : op->in + op->in_base;
    MPI_Op operator = operators[op->operator];
    int to = op->target, *counts = op->counts, requested = may_request && op->is_requested && !is_single(op);
    MPI_Request *request = &requests[pending];
    pending += requested;
    switch (op->call) {
    case PUT:
        if (requested) CHECK_CALL(MPI_Rput(out, counts[0], from, to, at, counts[2], there, window, request));
        else CHECK_CALL(MPI_Put(out, counts[0], from, to, at, counts[2], there, window));
        break;
    case GET:
        if (requested) CHECK_CALL(MPI_Rget(in, counts[0], from, to, at, counts[2], there, window, request));
        else CHECK_CALL(MPI_Get_c(in, counts[0], from, to, at, counts[2], there, window));
        break;
    case ACCUMULATE:
        if (requested)
            CHECK_CALL(MPI_Raccumulate(out, counts[0], from, to, at, counts[2], there, operator, window, request));
        else CHECK_CALL(MPI_Accumulate(out, counts[0], from, to, at, counts[2], there, operator, window));
        break;
    case GET_ACCUMULATE:
        if (requested)
            CHECK_CALL(MPI_Rget_accumulate(out, counts[0], from, in, counts[1], into, to, at, counts[2], there, operator,
                                           window, request));
        else
            CHECK_CALL(MPI_Get_accumulate(out, counts[0], from, in, counts[1], into, to, at, counts[2], there, operator,
                                          window));
        break;
    case FETCH_AND_OP: CHECK_CALL(MPI_Fetch_and_op(op->one, op->found, basic, to, at, operator, window)); break;
    default: CHECK_CALL(MPI_Compare_and_swap(op->one, op->compare, op->found, basic, to, at, window));
    }
}

static void finish_requests(void)
{
    CHECK_CALL(MPI_Waitall(pending, requests, MPI_STATUSES_IGNORE));
    pending = 0;
}

/* All operations of this rank, with whatever completes some of them in between. */
static void between_locks(const int *choices)
{
    for (int i = 0; i < planned; i++) {
        if (plan[i].origin != world_rank) continue;
        begin(&plan[i], 1);
        switch (choices[i] % 9) {
        case 0: CHECK_CALL(MPI_Win_flush(plan[i].target, window)); break;
        case 1: CHECK_CALL(MPI_Win_flush_all(window)); break;
        case 2: CHECK_CALL(MPI_Win_flush_local(plan[i].target, window)); break;
        case 3: CHECK_CALL(MPI_Win_flush_local_all(window)); break;
        case 4: CHECK_CALL(MPI_Win_sync(window)); break;
        case 5: finish_requests(); break;
        default: break;
        }
    }
}

static MPI_Group group_of(const int *ranks, int count)
{
    MPI_Group world, group;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, count, ranks, &group);
    MPI_Group_free(&world);
    return group;
}

static void in_epoch(enum epoch epoch, int (*opens)[RANKS_MAX], const int *choices)
{
    int plain = choices[0] % 2, from[RANKS_MAX], to[RANKS_MAX], origins = 0, targets = 0, is_over = 0;
    MPI_Group access, exposure;
    switch (epoch) {
    case FENCE:
        CHECK_CALL(MPI_Win_fence(plain ? 0 : MPI_MODE_NOPRECEDE, window));
        for (int i = 0; i < planned; i++)
            if (plan[i].origin == world_rank) begin(&plan[i], 0);
        CHECK_CALL(MPI_Win_fence(plain ? 0 : MPI_MODE_NOSUCCEED, window));
        break;
    case LOCK_ALL:
        CHECK_CALL(MPI_Win_lock_all(plain ? 0 : MPI_MODE_NOCHECK, window));
        between_locks(choices);
        if (plain) finish_requests();
        CHECK_CALL(MPI_Win_unlock_all(window));
        break;
    case POST_START:
        for (int rank = 0; rank < world_size; rank++) {
            if (opens[rank][world_rank]) from[origins++] = rank;
            if (opens[world_rank][rank]) to[targets++] = rank;
        }
        exposure = group_of(from, origins), access = group_of(to, targets);
        CHECK_CALL(MPI_Win_post(exposure, 0, window));
        CHECK_CALL(MPI_Win_start(access, 0, window));
        MPI_Group_free(&exposure);
        MPI_Group_free(&access);
        for (int i = 0; i < planned; i++)
            if (plan[i].origin == world_rank && !plan[i].is_left_out) begin(&plan[i], 0);
        CHECK_CALL(MPI_Win_complete(window));
        if (plain) CHECK_CALL(MPI_Win_wait(window));
        while (!plain && !is_over) CHECK_CALL(MPI_Win_test(window, &is_over));
        break;
    default:
        for (int i = 0; i < planned; i++) {
            if (plan[i].origin != world_rank) continue;
            CHECK_CALL(MPI_Win_lock(choices[i] % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, plan[i].target, 0, window));
            begin(&plan[i], 1);
            if (choices[i] % 3 == 0) finish_requests();
            CHECK_CALL(MPI_Win_unlock(plan[i].target, window));
        }
    }
    finish_requests();
    MPI_Barrier(MPI_COMM_WORLD);
}

static void judge(struct operation *op)
{
    if (op->origin == world_rank && !op->is_left_out && op->is_known) {
        if (is_single(op)) CHECK_BYTES(op->found, op->before, (size_t)used(op->kind));
        for (int i = 0; op->in != NULL && i < op->total; i++) {
            long place = op->in_base + place_in(&op->types[result_side(op)], i);
            memset(op->in + place + used(op->kind), 0, (size_t)(sizes[op->kind] - used(op->kind)));
            memset(op->wanted + place + used(op->kind), 0, (size_t)(sizes[op->kind] - used(op->kind)));
        }
        if (op->in != NULL) CHECK_BYTES(op->in, op->wanted, (size_t)op->in_bytes);
    }
    for (int side = 0; side < 3; side++) release(&op->types[side]);
    free(op->in), free(op->out), free(op->wanted);
}

static void round_of(enum epoch epoch)
{
    int opens[RANKS_MAX][RANKS_MAX], choices[OPERATIONS];
    for (int rank = 0; rank < world_size; rank++) memset(uses[rank], 0, sizeof *uses[rank] * BYTES);
    draw();
    for (int i = 0; i < RANKS_MAX; i++)
        for (int j = 0; j < RANKS_MAX; j++) opens[i][j] = below(3) != 0;
    for (int i = 0; i < OPERATIONS; i++) choices[i] = (int)below(1 << 20);
    CHECK_CALL(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, world_rank, 0, window));
    memcpy(memory, oracle[world_rank], BYTES);
    CHECK_CALL(MPI_Win_unlock(world_rank, window));
    for (int i = 0; i < planned; i++) {
        plan[i].is_left_out = epoch == POST_START && !opens[plan[i].origin][plan[i].target];
        if (!plan[i].is_left_out) foresee(&plan[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    in_epoch(epoch, opens, choices);
    for (int i = 0; i < planned; i++) judge(&plan[i]);
    CHECK_CALL(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, world_rank, 0, window));
    for (int rank = 0; rank < world_size; rank++)
        for (long i = 0; i < BYTES; i++)
            if (padding[rank][i]) {
                padding[rank][i] = oracle[rank][i] = 0;
                if (rank == world_rank) memory[i] = 0;
            }
    CHECK_BYTES(memory, oracle[world_rank], BYTES);
    CHECK_CALL(MPI_Win_unlock(world_rank, window));
}

static int on_one_host(void)
{
    MPI_Comm host;
    int size;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &size);
    MPI_Comm_free(&host);
    return size == world_size;
}

static void program(void)
{
    MPI_Info info;
    int unit;
    MPI_Aint address;
    flavor = below(FLAVORS);
    regions = (int)between(1, 3);
    for (int rank = 0; rank < world_size; rank++) units[rank] = flavor == DYNAMIC ? 1 : 1 << below(4);
    unit = units[world_rank];
    MPI_Info_create(&info);
    if (below(2)) MPI_Info_set(info, "accumulate_ordering", "rar,raw,war,waw");
    if (below(2)) MPI_Info_set(info, "alloc_shared_noncontig", "true");
    if (flavor == SHARED && !on_one_host()) flavor = ALLOCATED;
    if (flavor == ALLOCATED_FIRST) MPI_Alloc_mem(BYTES, MPI_INFO_NULL, &memory);
    if (flavor == CREATED || flavor == DYNAMIC) memory = malloc(BYTES);
    if (flavor == SHARED) CHECK_CALL(MPI_Win_allocate_shared(BYTES, unit, info, MPI_COMM_WORLD, &memory, &window));
    else if (flavor == ALLOCATED) CHECK_CALL(MPI_Win_allocate(BYTES, unit, info, MPI_COMM_WORLD, &memory, &window));
    else if (flavor == DYNAMIC) CHECK_CALL(MPI_Win_create_dynamic(info, MPI_COMM_WORLD, &window));
    else CHECK_CALL(MPI_Win_create(memory, BYTES, unit, info, MPI_COMM_WORLD, &window));
    MPI_Info_free(&info);
    long part = BYTES / regions;
    for (int i = 0; flavor == DYNAMIC && i < regions; i++) CHECK_CALL(MPI_Win_attach(window, memory + i * part, part));
    MPI_Get_address(memory, &address);
    MPI_Allgather(&address, 1, MPI_AINT, addresses, 1, MPI_AINT, MPI_COMM_WORLD);
    for (int rank = 0; rank < world_size; rank++) {
        memset(padding[rank], 0, BYTES);
        for (long i = 0; i < BYTES; i++) oracle[rank][i] = (unsigned char)(i * 7 + rank);
    }
    for (int round = 0; round < ROUNDS && check_failures == 0; round++) round_of(below(EPOCHS));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; flavor == DYNAMIC && i < regions; i++) CHECK_CALL(MPI_Win_detach(window, memory + i * part));
    CHECK_CALL(MPI_Win_free(&window));
    if (flavor == CREATED || flavor == DYNAMIC) free(memory);
    if (flavor == ALLOCATED_FIRST) MPI_Free_mem(memory);
}

int main(int argc, char **argv)
{
    MPI_Datatype all[KINDS] = {MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_SHORT, MPI_UNSIGNED_SHORT, MPI_INT, MPI_UNSIGNED,
        MPI_LONG, MPI_UNSIGNED_LONG, MPI_LONG_LONG, MPI_UNSIGNED_LONG_LONG, MPI_INT8_T, MPI_UINT16_T, MPI_INT32_T, MPI_AINT,
        MPI_OFFSET, MPI_COUNT, MPI_FLOAT, MPI_DOUBLE, MPI_LONG_DOUBLE, MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_C_BOOL,
        MPI_BYTE, MPI_2INT, MPI_FLOAT_INT, MPI_UINT64_T};
    MPI_Op named[OPERATORS] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR,
        MPI_MINLOC, MPI_MAXLOC, MPI_REPLACE, MPI_NO_OP};
    long first, last;
    int failed = 0;
    start(&argc, &argv);
    memcpy(basics, all, sizeof basics);
    memcpy(operators, named, sizeof operators);
    for (int kind = 0; kind < KINDS; kind++) MPI_Type_size(basics[kind], &sizes[kind]);
    for (int rank = 0; rank < world_size; rank++) {
        oracle[rank] = malloc(BYTES);
        padding[rank] = malloc(BYTES);
        uses[rank] = malloc(sizeof *uses[rank] * BYTES);
    }
    seeds_of(argc, argv, &first, &last);
    for (long seed = first; seed <= last && !failed; seed++) {
        seeded((uint64_t)seed);
        program();
        MPI_Allreduce(&check_failures, &failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (failed && world_rank == 0) printf("seed %ld failed, flavor %d\n", seed, (int)flavor);
    }
    for (int rank = 0; rank < world_size; rank++) free(oracle[rank]), free(padding[rank]), free(uses[rank]);
    return finish();
}
