/* One-sided operations, for `oxmpi bench --against`; compiled and run like abi_bench.c.
 *
 *     onesided SECONDS LIMIT [FIGURE...]
 *
 * put:8, get:8       that many bytes and a flush
 * fetch:8            MPI_Fetch_and_op of an addition and a flush; of more than two ranks all add to the same word
 * locked:8           MPI_Win_lock, exclusive, a put of that many bytes, MPI_Win_unlock
 * longput:1048576    puts of that many bytes, DEPTH of them before a flush
 * puts:8             PUTS puts and a flush
 * fence              MPI_Win_fence with nothing moved
 * passive:8          a put and a flush while the target computes
 *
 * Of two ranks the first is the origin, and the second waits inside MPI; of more each is the origin for the next one. */
#define _POSIX_C_SOURCE 200112L
/* Only two ranks are measured between hosts. */
#define ONE_HOST (size > 2)
#include "measure.h"

#define WINDOW_BYTES (4L << 20)
#define DEPTH 4
#define PUTS 64
/* Target and origin of `passive`: how long the target computes, when the origin begins, how many puts it makes and how
 * often that is repeated. */
#define COMPUTE_SECONDS 0.05
#define BEGIN_SECONDS 0.02
#define PASSIVE_PUTS 16
#define PASSIVE_TURNS 5

struct work {
    MPI_Win window;
    char *memory; /* of this rank's part of the window */
    char *buffer; /* of the origin */
    int bytes;
    int target;
};

static int is_origin(void)
{
    return size > 2 || rank == 0;
}

static void put(const struct work *work, long batch)
{
    for (long turn = 0; turn < batch; turn++) {
        MPI_Put(work->buffer, work->bytes, MPI_BYTE, work->target, 0, work->bytes, MPI_BYTE, work->window);
        MPI_Win_flush(work->target, work->window);
    }
}

static void get(const struct work *work, long batch)
{
    for (long turn = 0; turn < batch; turn++) {
        MPI_Get(work->buffer, work->bytes, MPI_BYTE, work->target, 0, work->bytes, MPI_BYTE, work->window);
        MPI_Win_flush(work->target, work->window);
    }
}

static void fetch(const struct work *work, long batch)
{
    long long one = 1, old;
    int target = size > 2 ? 0 : 1;
    for (long turn = 0; turn < batch; turn++) {
        MPI_Fetch_and_op(&one, &old, MPI_LONG_LONG, target, 0, MPI_SUM, work->window);
        MPI_Win_flush(target, work->window);
    }
}

static void locked(const struct work *work, long batch)
{
    for (long turn = 0; turn < batch; turn++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, work->target, 0, work->window);
        MPI_Put(work->buffer, work->bytes, MPI_BYTE, work->target, 0, work->bytes, MPI_BYTE, work->window);
        MPI_Win_unlock(work->target, work->window);
    }
}

static void several(const struct work *work, int count, long batch)
{
    for (long turn = 0; turn < batch; turn++) {
        for (int index = 0; index < count; index++)
            MPI_Put(work->buffer, work->bytes, MPI_BYTE, work->target, (MPI_Aint)index * work->bytes, work->bytes, MPI_BYTE,
                    work->window);
        MPI_Win_flush(work->target, work->window);
    }
}

static void long_puts(const struct work *work, long batch)
{
    several(work, DEPTH, batch);
}

static void short_puts(const struct work *work, long batch)
{
    several(work, PUTS, batch);
}

static void fences(const struct work *work, long batch)
{
    for (long turn = 0; turn < batch; turn++)
        MPI_Win_fence(0, work->window);
}

/* Seconds of one put to a target that computes: the median. */
static double passive(const struct work *work, int *count)
{
    static double samples[PASSIVE_PUTS * PASSIVE_TURNS];
    *count = 0;
    for (int turn = 0; turn < PASSIVE_TURNS; turn++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double began = MPI_Wtime();
        if (rank == 0) {
            while (MPI_Wtime() - began < BEGIN_SECONDS)
                ;
            for (int index = 0; index < PASSIVE_PUTS; index++) {
                double time = MPI_Wtime();
                put(work, 1);
                time = MPI_Wtime() - time;
                samples[(*count)++] = time;
                /* The target is back: what follows would measure something else. */
                if (time > BEGIN_SECONDS / 2)
                    break;
            }
        } else {
            while (MPI_Wtime() - began < COMPUTE_SECONDS)
                ;
        }
    }
    qsort(samples, (size_t)*count, sizeof samples[0], ascending);
    return *count > 0 ? samples[*count / 2] : 0;
}

enum unit { NANOSECONDS, MICROSECONDS, GIGABYTES, MILLIONS };
enum check { WRITTEN, READ, ADDED, NOTHING };

/* A kind of figure: how it is run and checked, how many operations a run makes, what its number means. */
static const struct kind {
    const char *name;
    operation *run;
    enum check check;
    int operations;
    enum unit unit;
} kinds[] = {
    {"put", put, WRITTEN, 1, NANOSECONDS},
    {"get", get, READ, 1, NANOSECONDS},
    {"fetch", fetch, ADDED, 1, NANOSECONDS},
    {"locked", locked, WRITTEN, 1, NANOSECONDS},
    {"longput", long_puts, WRITTEN, DEPTH, GIGABYTES},
    {"puts", short_puts, WRITTEN, PUTS, MILLIONS},
    {"fence", fences, NOTHING, 1, MICROSECONDS},
    {"passive", put, WRITTEN, 1, NANOSECONDS},
};

/* Ranks that are no origin wait in the barrier and the reduction around this. */
static operation *running;

static void run_origin(const struct work *work, long batch)
{
    if (running == fences || is_origin())
        running(work, batch);
}

/* One operation of each origin, and whether it has brought what it should have. */
static void prove(const struct kind *kind, const struct work *work, const char *figure)
{
    int passive_epoch = kind->run != fences && kind->run != locked;
    memset(work->memory, kind->check == READ ? 7 : 0, WINDOW_BYTES);
    memset(work->buffer, kind->check == READ ? 0 : 7, (size_t)work->bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    if (passive_epoch)
        MPI_Win_lock_all(0, work->window);
    run_origin(work, 1);
    if (passive_epoch)
        MPI_Win_unlock_all(work->window);
    MPI_Barrier(MPI_COMM_WORLD);
    int is_target = size > 2 || rank == 1;
    long long sum = kind->check == ADDED ? *(long long *)work->memory : 0;
    int adds_here = rank == (size > 2 ? 0 : 1);
    if ((kind->check == WRITTEN && is_target && work->memory[work->bytes * kind->operations - 1] != 7)
        || (kind->check == READ && is_origin() && work->buffer[work->bytes - 1] != 7)
        || (kind->check == ADDED && adds_here && sum != (size > 2 ? size : 1)))
        give_up("other data arrived than were moved", figure);
    MPI_Barrier(MPI_COMM_WORLD);
}

void run_figure(const char *figure, int threads_provided)
{
    (void)threads_provided;
    const struct kind *kind = KIND_OF(figure);
    const char *colon = strchr(figure, ':');
    struct work work = {.bytes = colon == NULL ? 8 : atoi(colon + 1), .target = (rank + 1) % size};
    if (size < 2 || work.bytes < 8 || (long)work.bytes * kind->operations > WINDOW_BYTES)
        give_up("the number, or that of ranks, does not fit", figure);
    work.buffer = memory((size_t)work.bytes);
    MPI_Win_allocate(WINDOW_BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &work.memory, &work.window);
    running = kind->run;
    prove(kind, &work, figure);
    int passive_epoch = kind->run != fences && kind->run != locked, count;
    if (passive_epoch)
        MPI_Win_lock_all(0, work.window);
    double time = strcmp(kind->name, "passive") == 0 ? passive(&work, &count) : measure(run_origin, &work, &count);
    if (passive_epoch)
        MPI_Win_unlock_all(work.window);
    if (rank == 0) {
        static const char *const names[] = {"ns", "us", "GB/s", "M/s"};
        double all = kind->operations;
        double values[] = {time * 1e9, time * 1e6, all * work.bytes / time / 1e9, all / time / 1e6};
        printf("{\"figure\":\"%s\",\"unit\":\"%s\",\"value\":%.6g,\"count\":%d}\n", figure, names[kind->unit],
               values[kind->unit], count);
        fflush(stdout);
    }
    MPI_Win_free(&work.window);
    forget_memory();
}
