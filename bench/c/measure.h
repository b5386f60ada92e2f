/* What the benchmark programs of `oxmpi bench --against` share: memory, patterns, the clock, and main.
 *
 *     PROGRAM SECONDS LIMIT [FIGURE...]
 *
 * Each figure is measured for about SECONDS; figures that would begin later than LIMIT seconds after the start are skipped.
 * Rank 0 prints one JSON object per figure on a line of its own. A program defines `struct work`, `run_figure` and, if it
 * has threads, asks for them with a figure whose name begins with "threads:". One that defines ONE_HOST before it includes
 * this says by it whether all ranks are on one host: a batch then lasts from its first rank's beginning to its last one's
 * end. Else it lasts as long as on the slowest rank, which is the same if its ranks wait for each other or have a core
 * each; where they share cores it would flatter libraries whose ranks work one after the other. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef ONE_HOST
#include <time.h>
#endif

#define SAMPLES_MAX 4096
/* Samples wanted before time ends a measurement, and how often SECONDS may pass before it ends without them. */
#define SAMPLES_WANTED 3
#define PATIENCE 4
#define WARM 2 /* batches of the final size that are not counted */
/* Areas of memory of one figure: two for each of 64 threads, and six. */
#define AREAS_MAX 134

struct work;

/* Performs `batch` operations. */
typedef void operation(const struct work *work, long batch);

/* Measures one figure and prints it. */
void run_figure(const char *figure, int threads_provided);

static int rank, size;
static double seconds, limit, started;
static char *areas[AREAS_MAX];
static int area_count;

static void give_up(const char *what, const char *name)
{
    fprintf(stderr, "benchmark: rank %d of %d: %s: %s\n", rank, size, name, what);
    MPI_Abort(MPI_COMM_WORLD, 3);
    abort();
}

/* Touched once, so that no page is missing while time is taken; freed with all others after the figure. */
static char *memory(size_t bytes)
{
    char *area = malloc(bytes > 0 ? bytes : 1);
    if (area == NULL || area_count == AREAS_MAX)
        give_up("out of memory", "malloc");
    areas[area_count++] = area;
    return memset(area, 0, bytes);
}

static void forget_memory(void)
{
    while (area_count > 0)
        free(areas[--area_count]);
}

/* A byte that depends on where it comes from and on its place: what arrives can be recognised. */
static char pattern(int from, int to, long place)
{
    return (char)(1 + (from * 31 + to * 17 + place * 7) % 251);
}

static void fill(char *area, long bytes, int from, int to)
{
    for (long place = 0; place < bytes; place++)
        area[place] = pattern(from, to, place);
}

static int holds(const char *area, long bytes, int from, int to)
{
    for (long place = 0; place < bytes; place++)
        if (area[place] != pattern(from, to, place))
            return 0;
    return 1;
}

/* The kind that a figure names before its colon, in a table whose entries begin with their names. */
#define KIND_OF(figure) find_kind(kinds, sizeof kinds / sizeof kinds[0], sizeof kinds[0], figure)

static const void *find_kind(const void *kinds, size_t count, size_t bytes, const char *figure)
{
    size_t length = strcspn(figure, ":");
    for (size_t index = 0; index < count; index++) {
        const char *const *kind = (const void *)((const char *)kinds + index * bytes);
        if (strlen(*kind) == length && strncmp(*kind, figure, length) == 0)
            return kind;
    }
    give_up("no such figure", figure);
    return NULL;
}

static int ascending(const void *left, const void *right)
{
    double one = *(const double *)left, other = *(const double *)right;
    return (one > other) - (one < other);
}

#ifdef ONE_HOST

/* A clock that all ranks of a host share. */
static double now(void)
{
    if (!(ONE_HOST))
        return MPI_Wtime();
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* How long a batch lasted, on rank 0. */
static double span(double began, double ended)
{
    double mine[2] = {ONE_HOST ? -began : 0, ONE_HOST ? ended : ended - began}, all[2] = {0, 0};
    MPI_Reduce(mine, all, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return all[0] + all[1];
}

#else

static double now(void)
{
    return MPI_Wtime();
}

static double span(double began, double ended)
{
    double time = ended - began, slowest = 0;
    MPI_Reduce(&time, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return slowest;
}

#endif

/* Seconds per operation: the median of batches, each timed as `span` says. The size of a batch grows until it takes
 * a tenth of the time there is; rank 0 decides and tells the others. *count is the number of batches. */
static double measure(operation *run, const struct work *work, int *count)
{
    static double samples[SAMPLES_MAX];
    double began = MPI_Wtime();
    long batch = 1;
    int settled = 0;
    *count = 0;
    while (batch > 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = now();
        run(work, batch);
        double slowest = span(start, now());
        if (rank == 0) {
            double slice = seconds / 10, elapsed = MPI_Wtime() - began;
            int impatient = elapsed > PATIENCE * seconds;
            /* Several in a row must be long enough: one may be long because somebody else had the CPU. */
            settled = slowest >= slice / 2 ? settled + 1 : 0;
            int counted = impatient || settled > WARM;
            if (counted)
                samples[(*count)++] = slowest / batch;
            if ((counted && impatient) || *count == SAMPLES_MAX || (*count >= SAMPLES_WANTED && elapsed > seconds))
                batch = 0;
            else if (!counted && slowest < slice)
                batch = (long)(batch * (slowest * 16 < slice ? 16 : slice / slowest)) + 1;
        }
        MPI_Bcast(&batch, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    }
    qsort(samples, (size_t)*count, sizeof samples[0], ascending);
    if (rank != 0)
        return 0;
    return *count % 2 ? samples[*count / 2] : (samples[*count / 2 - 1] + samples[*count / 2]) / 2;
}

static void introduce(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    /* The beginning of the first line, up to what JSON would need to escape. */
    printf("{\"library\":\"%.*s\"}\n", (int)strcspn(version, "\n\r\t\"\\"), version);
}

int main(int argc, char **argv)
{
    int wanted = MPI_THREAD_SINGLE, provided;
    for (int word = 3; word < argc; word++)
        if (strncmp(argv[word], "threads:", 8) == 0)
            wanted = MPI_THREAD_MULTIPLE;
    MPI_Init_thread(&argc, &argv, wanted, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 3) {
        started = MPI_Wtime();
        seconds = atof(argv[1]);
        limit = atof(argv[2]);
        if (rank == 0)
            introduce();
        for (int word = 3; word < argc; word++) {
            int late = MPI_Wtime() - started > limit;
            MPI_Bcast(&late, 1, MPI_INT, 0, MPI_COMM_WORLD);
            if (!late)
                run_figure(argv[word], provided);
            else if (rank == 0)
                printf("{\"figure\":\"%s\",\"missing\":\"the job had used its %g s before\"}\n", argv[word], limit);
        }
    }
    MPI_Finalize();
    return 0;
}
