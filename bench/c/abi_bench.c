/* The benchmark program that `oxmpi bench --against` compiles and runs with every library it compares.
 *
 *     abi_bench SECONDS LIMIT [FIGURE...]
 *
 * A figure is a name and, for most, a number after a colon: latency:8, fresh:65536, typed:65536, bandwidth:65536, rate:8,
 * threads:4, barrier, bcast:8, allreduce:8, alltoall:64, gatherv:8, alltoallv:8, ibcast:8,
 * iallreduce:8, pack:8, loop:8. Each is measured for about SECONDS; figures that would begin later than
 * LIMIT seconds after the start are skipped. Rank 0 prints one JSON object per figure on a line of its own. Without
 * figures the program initialises and finalises MPI, which is what start-up is measured with, from outside.
 *
 * Only functions of the MPI standard are used, and POSIX threads. Nothing here knows which library it runs with. */
#define _POSIX_C_SOURCE 200112L
#include "measure.h"

#include <pthread.h>

/* Messages in flight at once; fewer when they would be more than WINDOW_BYTES_MAX. */
#define WINDOW 64
#define WINDOW_BYTES_MAX (8L << 20)
/* Data packed by one call, as contiguous bytes; they lie in twice as much memory. */
#define PACKED_BYTES (1L << 20)
/* Where the packed data begin in a page: some processors copy slowly between equal places of two pages. */
#define PACKED_PLACE 2048
#define THREADS_MAX 64
#define DATA_TAG 1
#define ANSWER_TAG 2

/* One thread's share of the messages. */
struct lane {
    MPI_Comm communicator;
    char *send, *receive;
    MPI_Request requests[WINDOW];
    const struct work *work;
    long batch;
};

/* What is being measured, and with what. */
struct work {
    long bytes;  /* per message, per peer, or per block of a datatype */
    int window;  /* messages in flight */
    int lanes;   /* threads that exchange messages, each with its own communicator */
    struct lane *lane;
    char *send, *receive;
    MPI_Datatype strided;
    char *packed;
    int packed_bytes;
    int *counts, *places; /* a block per rank */
};

/* Says whether an operation has brought what it should have. */
typedef int proof(const struct work *work);

static void ping_pong(const struct work *work, long batch)
{
    int bytes = (int)work->bytes;
    for (long turn = 0; turn < batch; turn++) {
        if (rank == 0) {
            MPI_Send(work->send, bytes, MPI_BYTE, 1, DATA_TAG, MPI_COMM_WORLD);
            MPI_Recv(work->receive, bytes, MPI_BYTE, 1, DATA_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            MPI_Recv(work->receive, bytes, MPI_BYTE, 0, DATA_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(work->send, bytes, MPI_BYTE, 0, DATA_TAG, MPI_COMM_WORLD);
        }
    }
}

/* The same with data that have just been written, as programs have them: the other rank's cache holds no copy of what is sent. */
static void fresh_ping_pong(const struct work *work, long batch)
{
    int bytes = (int)work->bytes;
    for (long turn = 0; turn < batch; turn++) {
        if (rank == 0) {
            memset(work->send, (int)turn, work->bytes);
            MPI_Send(work->send, bytes, MPI_BYTE, 1, DATA_TAG, MPI_COMM_WORLD);
        }
        if (rank < 2)
            MPI_Recv(work->receive, bytes, MPI_BYTE, 1 - rank, DATA_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) {
            memset(work->send, (int)turn, work->bytes);
            MPI_Send(work->send, bytes, MPI_BYTE, 0, DATA_TAG, MPI_COMM_WORLD);
        }
    }
}

/* The same with a datatype that has 4 of every 8 bytes. */
static void typed_ping_pong(const struct work *work, long batch)
{
    for (long turn = 0; turn < batch; turn++) {
        if (rank == 0)
            MPI_Send(work->send, 1, work->strided, 1, DATA_TAG, MPI_COMM_WORLD);
        if (rank < 2)
            MPI_Recv(work->receive, 1, work->strided, 1 - rank, DATA_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(work->send, 1, work->strided, 0, DATA_TAG, MPI_COMM_WORLD);
    }
}

/* Windows of messages from rank 0 to rank 1, each window answered by one short message. Concurrent receives must not share
 * memory (MPI 5.0 §3.7.2), so each message of a window has a place of its own on the receiving side. */
static void *windows(void *argument)
{
    struct lane *lane = argument;
    const struct work *work = lane->work;
    int bytes = (int)work->bytes;
    char answer = 0;
    for (long turn = 0; turn < lane->batch; turn++) {
        if (rank == 0) {
            for (int slot = 0; slot < work->window; slot++)
                MPI_Isend(lane->send, bytes, MPI_BYTE, 1, DATA_TAG, lane->communicator, &lane->requests[slot]);
            MPI_Waitall(work->window, lane->requests, MPI_STATUSES_IGNORE);
            MPI_Recv(&answer, 1, MPI_BYTE, 1, ANSWER_TAG, lane->communicator, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            for (int slot = 0; slot < work->window; slot++)
                MPI_Irecv(lane->receive + slot * work->bytes, bytes, MPI_BYTE, 0, DATA_TAG, lane->communicator,
                          &lane->requests[slot]);
            MPI_Waitall(work->window, lane->requests, MPI_STATUSES_IGNORE);
            MPI_Send(&answer, 1, MPI_BYTE, 0, ANSWER_TAG, lane->communicator);
        }
    }
    return NULL;
}

static void stream(const struct work *work, long batch)
{
    work->lane[0].batch = batch;
    windows(&work->lane[0]);
}

/* Threads are started and joined inside the time: some tens of microseconds in batches of many milliseconds. */
static void threaded_stream(const struct work *work, long batch)
{
    pthread_t threads[THREADS_MAX];
    for (int index = 0; index < work->lanes; index++) {
        work->lane[index].batch = batch;
        if (pthread_create(&threads[index], NULL, windows, &work->lane[index]) != 0)
            give_up("a thread cannot be started", "threads");
    }
    for (int index = 0; index < work->lanes; index++)
        pthread_join(threads[index], NULL);
}

static void barrier(const struct work *work, long batch)
{
    (void)work;
    for (long turn = 0; turn < batch; turn++)
        MPI_Barrier(MPI_COMM_WORLD);
}

static void bcast(const struct work *work, long batch)
{
    for (long turn = 0; turn < batch; turn++)
        MPI_Bcast(rank == 0 ? work->send : work->receive, (int)work->bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void allreduce(const struct work *work, long batch)
{
    for (long turn = 0; turn < batch; turn++)
        MPI_Allreduce(work->send, work->receive, (int)(work->bytes / 8), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void alltoall(const struct work *work, long batch)
{
    int bytes = (int)work->bytes;
    for (long turn = 0; turn < batch; turn++)
        MPI_Alltoall(work->send, bytes, MPI_BYTE, work->receive, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void gatherv(const struct work *work, long batch)
{
    int bytes = (int)work->bytes;
    for (long turn = 0; turn < batch; turn++)
        MPI_Gatherv(work->send, bytes, MPI_BYTE, work->receive, work->counts, work->places, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void alltoallv(const struct work *work, long batch)
{
    for (long turn = 0; turn < batch; turn++)
        MPI_Alltoallv(work->send, work->counts, work->places, MPI_BYTE, work->receive, work->counts, work->places, MPI_BYTE,
                      MPI_COMM_WORLD);
}

static void ibcast(const struct work *work, long batch)
{
    char *buffer = rank == 0 ? work->send : work->receive;
    for (long turn = 0; turn < batch; turn++) {
        MPI_Request request;
        MPI_Ibcast(buffer, (int)work->bytes, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void iallreduce(const struct work *work, long batch)
{
    int count = (int)(work->bytes / 8);
    for (long turn = 0; turn < batch; turn++) {
        MPI_Request request;
        MPI_Iallreduce(work->send, work->receive, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void pack(const struct work *work, long batch)
{
    for (long turn = 0; turn < batch; turn++) {
        int position = 0;
        MPI_Pack(work->send, 1, work->strided, work->packed + PACKED_PLACE, work->packed_bytes, &position, MPI_COMM_SELF);
    }
}

/* What a programmer would write instead of a datatype: every second block, one after the other. */
static void gather_blocks(double *restrict to, const double *restrict from, long blocks, long block_bytes)
{
    long step = block_bytes / 8;
    for (long block = 0; step == 1 && block < blocks; block++)
        to[block] = from[2 * block];
    for (long block = 0; step > 1 && block < blocks; block++)
        memcpy(to + block * step, from + 2 * block * step, (size_t)block_bytes);
}

static void loop(const struct work *work, long batch)
{
    /* Through a volatile pointer, or the compiler would notice that every turn does the same. */
    void (*volatile gather)(double *restrict, const double *restrict, long, long) = gather_blocks;
    for (long turn = 0; turn < batch; turn++)
        gather((double *)(work->packed + PACKED_PLACE), (const double *)work->send, PACKED_BYTES / work->bytes, work->bytes);
}

static int messages_right(const struct work *work)
{
    for (int index = 0; rank == 1 && index < work->lanes; index++)
        for (int slot = 0; slot < work->window; slot++)
            if (!holds(work->lane[index].receive + slot * work->bytes, work->bytes, 0, index))
                return 0;
    return 1;
}

static int ping_pong_right(const struct work *work)
{
    return rank > 1 || holds(work->receive, work->bytes, 1 - rank, 0);
}

static int typed_right(const struct work *work)
{
    for (long place = 0; rank < 2 && place < 2 * work->bytes; place++)
        if (place % 8 < 4 && work->receive[place] != pattern(1 - rank, 0, place))
            return 0;
    return 1;
}

static int bcast_right(const struct work *work)
{
    return rank == 0 || holds(work->receive, work->bytes, 0, 0);
}

static int allreduce_right(const struct work *work)
{
    for (long index = 0; index < work->bytes / 8; index++)
        if (((const double *)work->receive)[index] != size * (size + 1) / 2.0)
            return 0;
    return 1;
}

static int alltoall_right(const struct work *work)
{
    for (int from = 0; from < size; from++)
        if (!holds(work->receive + from * work->bytes, work->bytes, from, rank))
            return 0;
    return 1;
}

static int gatherv_right(const struct work *work)
{
    for (int from = 0; rank == 0 && from < size; from++)
        if (!holds(work->receive + from * work->bytes, work->bytes, from, 0))
            return 0;
    return 1;
}

static int pack_right(const struct work *work)
{
    for (long place = 0; place < PACKED_BYTES; place++)
        if (work->packed[PACKED_PLACE + place] != work->send[place + place / work->bytes * work->bytes])
            return 0;
    return 1;
}

enum unit { NANOSECONDS, MICROSECONDS, GIGABYTES, MILLIONS };

/* A kind of figure: how it is run and checked, and what its number means. */
struct kind {
    const char *name;
    operation *run;
    proof *right;
    enum unit unit;
    int windowed, pairs, packs;
};

static const struct kind kinds[] = {
    {"latency", ping_pong, ping_pong_right, NANOSECONDS, 0, 1, 0},
    {"fresh", fresh_ping_pong, NULL, NANOSECONDS, 0, 1, 0},
    {"typed", typed_ping_pong, typed_right, NANOSECONDS, 0, 1, 0},
    {"bandwidth", stream, messages_right, GIGABYTES, 1, 1, 0},
    {"rate", stream, messages_right, MILLIONS, 1, 1, 0},
    {"threads", threaded_stream, messages_right, MILLIONS, 1, 1, 0},
    {"barrier", barrier, NULL, MICROSECONDS, 0, 0, 0},
    {"bcast", bcast, bcast_right, MICROSECONDS, 0, 0, 0},
    {"allreduce", allreduce, allreduce_right, MICROSECONDS, 0, 0, 0},
    {"alltoall", alltoall, alltoall_right, MICROSECONDS, 0, 0, 0},
    {"gatherv", gatherv, gatherv_right, MICROSECONDS, 0, 0, 0},
    {"alltoallv", alltoallv, alltoall_right, MICROSECONDS, 0, 0, 0},
    {"ibcast", ibcast, bcast_right, MICROSECONDS, 0, 0, 0},
    {"iallreduce", iallreduce, allreduce_right, MICROSECONDS, 0, 0, 0},
    {"pack", pack, pack_right, GIGABYTES, 0, 0, 1},
    {"loop", loop, pack_right, GIGABYTES, 0, 0, 1},
};

static void fill_send(const struct kind *kind, const struct work *work)
{
    if (kind->run == alltoall || kind->run == alltoallv)
        for (int to = 0; to < size; to++)
            fill(work->send + to * work->bytes, work->bytes, rank, to);
    else if (kind->run == allreduce || kind->run == iallreduce)
        for (long index = 0; index < work->bytes / 8; index++)
            ((double *)work->send)[index] = rank + 1;
    else if (kind->packs)
        fill(work->send, 2 * PACKED_BYTES, rank, 0);
    else if (kind->run == typed_ping_pong)
        fill(work->send, 2 * work->bytes, rank, 0);
    else
        fill(work->send, work->bytes, rank, 0);
}

static void report(const char *figure, const struct kind *kind, const struct work *work, double time, int count)
{
    static const char *const names[] = {"ns", "us", "GB/s", "M/s"};
    double messages = (double)work->window * work->lanes;
    double bytes = kind->packs ? (double)PACKED_BYTES : messages * work->bytes;
    /* An operation of the ping-pong is a message there and one back. */
    double values[] = {time * 1e9 / 2, time * 1e6, bytes / time / 1e9, messages / time / 1e6};
    printf("{\"figure\":\"%s\",\"unit\":\"%s\",\"value\":%.6g,\"count\":%d}\n", figure, names[kind->unit],
           values[kind->unit], count);
    fflush(stdout);
}

void run_figure(const char *figure, int threads_provided)
{
    const struct kind *kind = KIND_OF(figure);
    const char *colon = strchr(figure, ':');
    long number = colon == NULL ? 0 : atol(colon + 1);
    int threaded = kind->run == threaded_stream;
    struct work work = {.bytes = threaded ? 8 : number, .lanes = threaded ? (int)number : 1, .window = 1};
    if (kind->windowed)
        work.window = work.bytes * WINDOW <= WINDOW_BYTES_MAX ? WINDOW : (int)(WINDOW_BYTES_MAX / work.bytes);
    if (kind->pairs && size < 2)
        give_up("needs two ranks", figure);
    if (number < 0 || work.lanes < 1 || work.lanes > THREADS_MAX || work.window < 1
        || (kind->packs && (number < 8 || number % 8 != 0 || PACKED_BYTES % number != 0)))
        give_up("the number does not fit", figure);
    if (threaded && threads_provided < MPI_THREAD_MULTIPLE) {
        if (rank == 0)
            printf("{\"figure\":\"%s\",\"missing\":\"the library does not provide MPI_THREAD_MULTIPLE\"}\n", figure);
        return;
    }
    size_t room = kind->packs ? 2 * PACKED_BYTES : (size_t)work.bytes * (size_t)(kind->windowed ? work.window : size);
    int typed = kind->run == typed_ping_pong;
    work.send = memory(room);
    work.receive = memory(room);
    fill_send(kind, &work);
    if (kind->packs) {
        int count = (int)(PACKED_BYTES / number), doubles = (int)(number / 8);
        MPI_Type_vector(count, doubles, 2 * doubles, MPI_DOUBLE, &work.strided);
        MPI_Type_commit(&work.strided);
        MPI_Pack_size(1, work.strided, MPI_COMM_SELF, &work.packed_bytes);
        work.packed = memory(PACKED_PLACE + (size_t)work.packed_bytes);
    }
    if (typed) {
        MPI_Type_vector((int)(number / 4), 1, 2, MPI_INT32_T, &work.strided);
        MPI_Type_commit(&work.strided);
    }
    work.counts = (int *)memory(sizeof(int) * (size_t)size);
    work.places = (int *)memory(sizeof(int) * (size_t)size);
    for (int peer = 0; peer < size; peer++) {
        work.counts[peer] = (int)work.bytes;
        work.places[peer] = (int)(peer * work.bytes);
    }
    work.lane = (struct lane *)memory(sizeof(struct lane) * (size_t)work.lanes);
    for (int index = 0; index < work.lanes; index++) {
        work.lane[index].work = &work;
        work.lane[index].communicator = MPI_COMM_WORLD;
        if (threaded)
            MPI_Comm_dup(MPI_COMM_WORLD, &work.lane[index].communicator);
        work.lane[index].send = memory((size_t)work.bytes);
        work.lane[index].receive = memory(room);
        fill(work.lane[index].send, work.bytes, rank, index);
    }
    /* The first operation is checked: a library that does nothing would be the fastest. */
    kind->run(&work, 1);
    if (kind->right != NULL && !kind->right(&work))
        give_up("other data arrived than were sent", figure);
    int count;
    double time = measure(kind->run, &work, &count);
    if (rank == 0)
        report(figure, kind, &work, time, count);
    for (int index = 0; index < work.lanes && threaded; index++)
        MPI_Comm_free(&work.lane[index].communicator);
    if (kind->packs || typed)
        MPI_Type_free(&work.strided);
    forget_memory();
}
