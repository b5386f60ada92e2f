/* The memory of a rank, for `oxmpi bench memory`: what the kernel counts, after MPI_Init and after an all-to-all.
 *
 * A figure is WHAT:WHEN. WHAT is `pss` (pages that several processes map count for each of them by its share) or
 * `private` (pages that this process alone has); WHEN is `0` for now, or the bytes of an all-to-all that comes before.
 * Values are of all ranks on average, and taken while all of them are there. */
#include "measure.h"

struct work {
    int nothing;
};

struct kind {
    const char *name;
    const char *fields[2];
};

static const struct kind kinds[] = {
    {"pss", {"Pss:", "SwapPss:"}},
    {"private", {"Private_Clean:", "Private_Dirty:"}},
};

/* The sum of some fields of this process's smaps_rollup, in bytes; below 0 where the kernel does not tell. */
static double memory_of(const struct kind *kind)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    double bytes = 0;
    if (file == NULL)
        return -1;
    while (fgets(line, sizeof line, file) != NULL)
        for (int field = 0; field < 2; field++) {
            size_t length = strlen(kind->fields[field]);
            if (strncmp(line, kind->fields[field], length) == 0)
                bytes += 1024 * atof(line + length);
        }
    fclose(file);
    return bytes;
}

static void exchange(long bytes)
{
    char *out = malloc((size_t)(bytes * size)), *in = malloc((size_t)(bytes * size));
    if (out == NULL || in == NULL)
        give_up("out of memory", "malloc");
    for (int to = 0; to < size; to++)
        fill(out + to * bytes, bytes, rank, to);
    MPI_Alltoall(out, (int)bytes, MPI_BYTE, in, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
    for (int from = 0; from < size; from++)
        if (!holds(in + from * bytes, bytes, from, rank))
            give_up("wrong data has arrived", "MPI_Alltoall");
    free(out);
    free(in);
}

void run_figure(const char *figure, int threads_provided)
{
    const struct kind *kind = KIND_OF(figure);
    long bytes = atol(strchr(figure, ':') + 1);
    (void)threads_provided;
    (void)measure;
    if (bytes > 0)
        exchange(bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    double mine = memory_of(kind), sum = 0, least = 0;
    MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&mine, &least, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    if (rank != 0)
        return;
    if (least < 0)
        printf("{\"figure\":\"%s\",\"missing\":\"/proc/self/smaps_rollup cannot be read\"}\n", figure);
    else
        printf("{\"figure\":\"%s\",\"unit\":\"B\",\"value\":%.1f}\n", figure, sum / size);
}
