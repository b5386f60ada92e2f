/* ranks: 1 2 3 */
/* MPI 5.0 chapter 3: random messages of every length, mode and way to receive and to wait, by seed. All ranks draw all
 * messages of a round, so a receiver knows what comes. A box (a communicator at a rank) is read in one of four ways in a
 * round: by source and tag, by source, by tag, or whatever comes; messages of one sender that the same receives would take
 * must be received in the order of the sends (section 3.5), so each is known by where it came from. */
#define _DEFAULT_SOURCE
#include "check.h"
#include <unistd.h>

enum { KINDS = 1 };
static MPI_Datatype basics[KINDS];
static const int sizes[KINDS] = {1};
#include "../random_types.h"

enum { MESSAGES = 48, ROUNDS = 6, RANKS_MAX = 16, TAGS = 3, COMMS = 2, BLOCKS_MAX = 40, MARGIN = 16 };
enum read { BY_BOTH, BY_SOURCE, BY_TAG, BY_NONE, READS };
enum mode { STANDARD, SYNCHRONOUS, BUFFERED, PERSISTENT, BLOCKING, READY, MODES };
enum taking { IRECV, PREPARED, RECV, PROBED, MATCHED, TAKINGS };
static const int lengths[] = {0, 1, 8, 64, 1400, 1440, 4096, 8192, 12288, 16384, 65536};

static MPI_Comm comms[COMMS];
static int is_posted_first;
static enum read reads[RANKS_MAX][COMMS];

static struct message {
    int from, to, tag, comm, bytes;
    enum mode mode;
    uint64_t seed;
    int is_taken;
} plan[MESSAGES];

/* Memory of a message, in blocks with gaps between them. */
struct buffer {
    unsigned char *memory;
    long extent;
    MPI_Datatype type;
    int blocks, bytes, at[BLOCKS_MAX], of[BLOCKS_MAX];
};

static struct receive {
    enum taking taking;
    int source, tag, comm, room, place;
    struct buffer into;
    MPI_Status status;
} receives[MESSAGES];

static struct buffer out[MESSAGES];
static MPI_Request requests[2 * MESSAGES];
static int whose[2 * MESSAGES], pending, received;

static unsigned char byte_of(const struct message *message, int at)
{
    return (unsigned char)((message->seed >> (at % 7 * 8)) + (uint64_t)at / 7 * 31);
}

static struct buffer buffer_of(int bytes)
{
    struct buffer made = {.bytes = bytes, .type = MPI_BYTE, .blocks = 1, .of = {bytes}, .extent = bytes};
    if (bytes > 1 && below(3) == 0) {
        int block = (int)between(bytes / BLOCKS_MAX + 1, bytes), gap = (int)below(9);
        made.blocks = (bytes + block - 1) / block;
        for (int i = 0; i < made.blocks; i++) {
            made.at[i] = i * (block + gap);
            made.of[i] = i + 1 < made.blocks ? block : bytes - i * block;
        }
        made.extent = made.at[made.blocks - 1] + made.of[made.blocks - 1];
        MPI_Type_indexed(made.blocks, made.of, made.at, MPI_BYTE, &made.type);
        MPI_Type_commit(&made.type);
    }
    made.memory = malloc((size_t)made.extent + MARGIN);
    memset(made.memory, 0xee, (size_t)made.extent + MARGIN);
    return made;
}

static int count_of(const struct buffer *buffer)
{
    return buffer->type == MPI_BYTE ? buffer->bytes : 1;
}

static void forget(struct buffer *buffer)
{
    if (buffer->type != MPI_BYTE) MPI_Type_free(&buffer->type);
    free(buffer->memory);
}

/* Bytes that are neither the message's, in its blocks, nor untouched, in gaps and behind it. */
static int wrong_bytes(const struct buffer *buffer, const struct message *message)
{
    int wrong = 0, at = 0;
    long place = 0;
    for (int i = 0; i < buffer->blocks; i++) {
        for (; place < buffer->at[i]; place++) wrong += buffer->memory[place] != 0xee;
        for (int of = 0; of < buffer->of[i]; of++, place++, at++)
            wrong += buffer->memory[place] != (at < message->bytes ? byte_of(message, at) : 0xee);
    }
    for (; place < buffer->extent + MARGIN; place++) wrong += buffer->memory[place] != 0xee;
    return wrong;
}

static int random_bytes(void)
{
    long way = below(8);
    int near = lengths[below(sizeof lengths / sizeof *lengths)] + (int)between(-1, 1);
    if (way < 4) return (int)below(100);
    if (way < 6) return near < 0 ? 0 : near;
    return (int)below(way == 6 ? 20000 : 150000);
}

/* What all ranks draw. */
static void draw(void)
{
    is_posted_first = (int)below(2);
    for (int rank = 0; rank < world_size; rank++)
        for (int comm = 0; comm < COMMS; comm++) reads[rank][comm] = (enum read)below(READS);
    for (struct message *message = plan; message < plan + MESSAGES; message++) {
        message->from = (int)below(world_size), message->to = (int)below(world_size);
        message->tag = (int)below(TAGS), message->comm = (int)below(COMMS);
        message->bytes = random_bytes();
        message->mode = (enum mode)below(is_posted_first ? MODES : BLOCKING);
        message->seed = (uint64_t)below(1L << 60);
        message->is_taken = 0;
    }
}

/* Whether a receive with this source and tag takes a message. */
static int takes(const struct receive *receive, const struct message *message)
{
    return message->to == world_rank && message->comm == receive->comm
        && (receive->source == MPI_ANY_SOURCE || receive->source == message->from)
        && (receive->tag == MPI_ANY_TAG || receive->tag == message->tag);
}

static void plan_receives(void)
{
    received = 0;
    for (int i = 0; i < MESSAGES; i++) {
        if (plan[i].to != world_rank) continue;
        enum read read = reads[world_rank][plan[i].comm];
        struct receive receive = {.comm = plan[i].comm, .source = plan[i].from, .tag = plan[i].tag};
        if (read == BY_TAG || read == BY_NONE) receive.source = MPI_ANY_SOURCE;
        if (read == BY_SOURCE || read == BY_NONE) receive.tag = MPI_ANY_TAG;
        receive.taking = (enum taking)below(is_posted_first ? RECV : TAKINGS);
        for (int other = 0; other < MESSAGES; other++)
            if (takes(&receive, &plan[other]) && plan[other].bytes > receive.room) receive.room = plan[other].bytes;
        int place = (int)below(received + 1); /* any order will do */
        receives[received++] = receives[place];
        receives[place] = receive;
    }
    for (int i = 0; i < received; i++) receives[i].into = buffer_of(receives[i].room);
}

static void await(MPI_Request request, int who)
{
    requests[pending] = request;
    whose[pending++] = who;
}

static void take(int i)
{
    struct receive *receive = &receives[i];
    struct buffer *into = &receive->into;
    MPI_Comm comm = comms[receive->comm];
    MPI_Request request;
    MPI_Message message;
    int found = 0, source = receive->source, tag = receive->tag;
    switch (receive->taking) {
    case IRECV: MPI_Irecv(into->memory, count_of(into), into->type, source, tag, comm, &request); break;
    case PREPARED:
        MPI_Recv_init(into->memory, count_of(into), into->type, source, tag, comm, &request);
        MPI_Start(&request);
        break;
    case RECV: MPI_Recv(into->memory, count_of(into), into->type, source, tag, comm, &receive->status); return;
    case PROBED:
        MPI_Probe(source, tag, comm, &receive->status);
        source = receive->status.MPI_SOURCE, tag = receive->status.MPI_TAG;
        MPI_Recv(into->memory, count_of(into), into->type, source, tag, comm, &receive->status);
        return;
    default:
        while (!found) MPI_Improbe(source, tag, comm, &found, &message, &receive->status);
        MPI_Imrecv(into->memory, count_of(into), into->type, &message, &request);
    }
    await(request, i);
}

static void send_one(int i)
{
    const struct message *message = &plan[i];
    MPI_Comm comm = comms[message->comm];
    MPI_Request request = MPI_REQUEST_NULL;
    struct buffer *from = &out[i];
    int count = count_of(from), to = message->to, tag = message->tag;
    switch (message->mode) {
    case STANDARD: MPI_Isend(from->memory, count, from->type, to, tag, comm, &request); break;
    case SYNCHRONOUS: MPI_Issend(from->memory, count, from->type, to, tag, comm, &request); break;
    case BUFFERED: MPI_Ibsend(from->memory, count, from->type, to, tag, comm, &request); break;
    case READY: MPI_Irsend(from->memory, count, from->type, to, tag, comm, &request); break;
    case BLOCKING: MPI_Send(from->memory, count, from->type, to, tag, comm); return;
    default:
        MPI_Send_init(from->memory, count, from->type, to, tag, comm, &request);
        MPI_Start(&request);
    }
    await(request, -1);
}

static void send_all(void)
{
    for (int i = 0; i < MESSAGES; i++) {
        const struct message *message = &plan[i];
        if (message->from != world_rank) continue;
        out[i] = buffer_of(message->bytes);
        for (int block = 0, at = 0; block < out[i].blocks; block++)
            for (int of = 0; of < out[i].of[block]; of++, at++) out[i].memory[out[i].at[block] + of] = byte_of(message, at);
        send_one(i);
    }
}

static void over(int at, const MPI_Status *status)
{
    if (whose[at] >= 0) receives[whose[at]].status = *status;
}

/* Ends all requests, in one of the ways there are. */
static void wait_for_all(void)
{
    MPI_Status statuses[2 * MESSAGES];
    int places[2 * MESSAGES], count = 0, left = pending, done = 0;
    for (int i = 0; i < pending; i++) places[i] = i;
    switch (below(6)) {
    case 0: MPI_Waitall(pending, requests, statuses); break;
    case 1:
        while (!done) MPI_Testall(pending, requests, &done, statuses);
        break;
    case 2:
        for (int i = pending - 1; i >= 0; i--) MPI_Wait(&requests[i], &statuses[i]);
        break;
    case 3:
        for (; left > 0; left--) {
            MPI_Status status;
            MPI_Waitany(pending, requests, places, &status);
            statuses[places[0]] = status;
        }
        break;
    default:
        while (left > 0) {
            MPI_Status some[2 * MESSAGES];
            MPI_Testsome(pending, requests, &count, places, some);
            for (int i = 0; i < count; i++) statuses[places[i]] = some[i];
            left -= count > 0 ? count : 0;
        }
    }
    for (int i = 0; i < pending; i++) {
        over(i, &statuses[i]);
        if (requests[i] != MPI_REQUEST_NULL) MPI_Request_free(&requests[i]); /* a persistent one */
    }
    pending = 0;
}

/* Each receive took the first message of its sender that it could take and no earlier one had. */
static int judge(void)
{
    int failures = check_failures;
    for (int i = 0; i < received; i++) {
        struct receive *receive = &receives[i], from = *receive;
        struct message *message = plan;
        int bytes = -1;
        from.source = receive->status.MPI_SOURCE;
        if (receive->tag == MPI_ANY_TAG) from.tag = MPI_ANY_TAG;
        while (message < plan + MESSAGES && (message->is_taken || !takes(&from, message))) message++;
        CHECK(message < plan + MESSAGES);
        if (message == plan + MESSAGES) continue;
        message->is_taken = 1;
        MPI_Get_count(&receive->status, MPI_BYTE, &bytes);
        CHECK_INT(receive->status.MPI_TAG, message->tag);
        CHECK_INT(bytes, message->bytes);
        CHECK_INT(wrong_bytes(&receive->into, message), 0);
    }
    return check_failures - failures;
}

static void turn(void)
{
    uint64_t shared;
    draw();
    shared = random_state;
    seeded(shared + (uint64_t)world_rank); /* what each draws for itself */
    plan_receives();
    MPI_Request barrier;
    if (is_posted_first) {
        for (int i = 0; i < received; i++) take(i);
        MPI_Barrier(MPI_COMM_WORLD);
        send_all();
    } else {
        send_all();
        if (below(4) == 0) usleep((useconds_t)below(3000));
        for (int i = 0; i < received; i++) take(i);
    }
    MPI_Ibarrier(comms[1], &barrier);
    wait_for_all();
    MPI_Wait(&barrier, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD); /* else a receive from any source could take a message of the next round */
    if (judge() > 0) printf("rank %d: posted first: %d\n", world_rank, is_posted_first);
    for (int i = 0; i < received; i++) forget(&receives[i].into);
    for (int i = 0; i < MESSAGES; i++)
        if (plan[i].from == world_rank) forget(&out[i]);
    random_state = shared;
}

int main(int argc, char **argv)
{
    long first, last;
    int failed = 0, bytes = 16 << 20;
    start(&argc, &argv);
    basics[0] = MPI_BYTE;
    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    void *space = malloc((size_t)bytes);
    MPI_Buffer_attach(space, bytes);
    seeds_of(argc, argv, &first, &last);
    for (long seed = first; seed <= last && !failed; seed++) {
        seeded((uint64_t)seed);
        for (int round = 0; round < ROUNDS; round++) turn();
        MPI_Allreduce(&check_failures, &failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (failed && world_rank == 0) printf("seed %ld failed\n", seed);
    }
    MPI_Buffer_detach(&space, &bytes);
    free(space);
    MPI_Comm_free(&comms[1]);
    return finish();
}
