/* What the benchmark programs of `oxmpi bench --against` share: who this rank is, how long an operation takes, and the loop
 * over the figures named on the command line. A program defines PROGRAM, its name, before it includes this, and its own
 * `struct work` after. */
#define _POSIX_C_SOURCE 200112L
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES_MAX 4096
/* Samples wanted before time ends a measurement, and how often SECONDS may pass before it ends without them. */
#define SAMPLES_WANTED 3
#define PATIENCE 4
#define WARM 2 /* batches of the final size that are not counted */

struct work;
/* Performs `batch` operations. */
typedef void operation(const struct work *work, long batch);

static int rank, size;
static double seconds, limit, started;

static void give_up(const char *what, const char *name)
{
    fprintf(stderr, PROGRAM ": rank %d of %d: %s: %s\n", rank, size, name, what);
    MPI_Abort(MPI_COMM_WORLD, 3);
    abort();
}

static int ascending(const void *left, const void *right)
{
    double one = *(const double *)left, other = *(const double *)right;
    return (one > other) - (one < other);
}

/* Seconds per operation: the median of batches, each timed by its slowest rank. The size of a batch grows until it takes
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
        double time = MPI_Wtime(), slowest = 0;
        run(work, batch);
        time = MPI_Wtime() - time;
        MPI_Reduce(&time, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
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

/* Runs the figures after the two numbers, SECONDS and LIMIT. MPI is initialised. */
static void run_figures(int argc, char **argv, void run_figure(const char *figure))
{
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc <= 3)
        return;
    started = MPI_Wtime();
    seconds = atof(argv[1]);
    limit = atof(argv[2]);
    if (rank == 0)
        introduce();
    for (int word = 3; word < argc; word++) {
        int late = MPI_Wtime() - started > limit;
        MPI_Bcast(&late, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (!late)
            run_figure(argv[word]);
        else if (rank == 0)
            printf("{\"figure\":\"%s\",\"missing\":\"the job had used its %g s before\"}\n", argv[word], limit);
    }
}
