/* The program that `oxmpi bench --against PREFIX files` compiles and runs with every library it compares: access to one
 * file by all ranks, in the patterns that programs have.
 *
 *     files SECONDS LIMIT [FIGURE...]
 *
 * A figure is a pattern, a number of bytes and a medium: write:1048576@tmpfs, read:1048576@disk (a range for each rank, in
 * calls of so many bytes), pwrite and pread (the same without MPI), write-all:4096@tmpfs and read-all (pieces of all ranks
 * in turn, collective), write-cube:128@tmpfs and read-cube (a block of a cube of doubles for each rank, collective),
 * append:64@tmpfs (the shared pointer), overlap:67108864@tmpfs (a nonblocking collective write under a second of
 * computing). The medium tmpfs is /dev/shm, the medium disk the folder in TMPDIR, or /var/tmp.
 *
 * A figure without MPI is measured in turns with the same by MPI, and gives both.
 *
 * Only functions of the MPI standard and POSIX are used. Nothing here knows which library it runs with. */
#define _POSIX_C_SOURCE 200809L
#define ONE_HOST 1
#include "measure.h"

#include <fcntl.h>
#include <unistd.h>

/* Data of all ranks together in one operation with ranges of their own, and in one with pieces in turn. */
#define RANGES_BYTES (32L << 20)
#define PIECES_BYTES (16L << 20)
/* The same with pieces shorter than a cache line, of which some libraries need microseconds for each. */
#define TINY_PIECES_BYTES (4L << 20)
#define TINY 64
/* Appends of each rank in one operation, so that setting the pointer back, which all ranks do together, is little of
 * it. */
#define APPENDS 64
#define COMPUTING 1.0 /* seconds */
/* How often computing is tried, and below how many SECONDS only once. */
#define OVERLAPS 3
#define SHORT_SECONDS 0.05
#define PATH_BYTES 256

struct work {
    const struct kind *kind;
    long bytes;  /* of a piece or call; edge of a cube */
    long mine;   /* data of this rank in one operation */
    long total;  /* data of all ranks */
    char *data;
    int plain;   /* descriptor for access without MPI */
    MPI_File file;
};

enum shape { RANGE, PIECES, CUBE, APPEND, OVERLAP };

struct kind {
    const char *name;
    enum shape shape;
    operation *run;
    int reads, is_plain;
};

static void check(int error, const char *what)
{
    if (error == MPI_SUCCESS)
        return;
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(error, text, &length);
    give_up(text, what);
}

static void write_range(const struct work *work, long batch)
{
    for (long turn = 0; turn < batch; turn++)
        for (long at = 0; at < work->mine; at += work->bytes)
            check(MPI_File_write_at(work->file, rank * work->mine + at, work->data + at, (int)work->bytes, MPI_BYTE,
                                    MPI_STATUS_IGNORE), "MPI_File_write_at");
}

static void read_range(const struct work *work, long batch)
{
    for (long turn = 0; turn < batch; turn++)
        for (long at = 0; at < work->mine; at += work->bytes)
            check(MPI_File_read_at(work->file, rank * work->mine + at, work->data + at, (int)work->bytes, MPI_BYTE,
                                   MPI_STATUS_IGNORE), "MPI_File_read_at");
}

static void plain_write(const struct work *work, long batch)
{
    for (long turn = 0; turn < batch; turn++)
        for (long at = 0; at < work->mine; at += work->bytes)
            if (pwrite(work->plain, work->data + at, (size_t)work->bytes, rank * work->mine + at) != work->bytes)
                give_up("too little was written", "pwrite");
}

static void plain_read(const struct work *work, long batch)
{
    for (long turn = 0; turn < batch; turn++)
        for (long at = 0; at < work->mine; at += work->bytes)
            if (pread(work->plain, work->data + at, (size_t)work->bytes, rank * work->mine + at) != work->bytes)
                give_up("too little was read", "pread");
}

static void write_all(const struct work *work, long batch)
{
    for (long turn = 0; turn < batch; turn++)
        check(MPI_File_write_at_all(work->file, 0, work->data, (int)work->mine, MPI_BYTE, MPI_STATUS_IGNORE),
              "MPI_File_write_at_all");
}

static void read_all(const struct work *work, long batch)
{
    for (long turn = 0; turn < batch; turn++)
        check(MPI_File_read_at_all(work->file, 0, work->data, (int)work->mine, MPI_BYTE, MPI_STATUS_IGNORE),
              "MPI_File_read_at_all");
}

static void append(const struct work *work, long batch)
{
    check(MPI_File_seek_shared(work->file, 0, MPI_SEEK_SET), "MPI_File_seek_shared");
    for (long turn = 0; turn < batch * APPENDS; turn++)
        check(MPI_File_write_shared(work->file, work->data, (int)work->bytes, MPI_BYTE, MPI_STATUS_IGNORE),
              "MPI_File_write_shared");
}

static const struct kind kinds[] = {
    {"write", RANGE, write_range, 0, 0},      {"read", RANGE, read_range, 1, 0},
    {"pwrite", RANGE, plain_write, 0, 1},     {"pread", RANGE, plain_read, 1, 1},
    {"write-all", PIECES, write_all, 0, 0},   {"read-all", PIECES, read_all, 1, 0},
    {"write-cube", CUBE, write_all, 0, 0},    {"read-cube", CUBE, read_all, 1, 0},
    {"append", APPEND, append, 0, 0},         {"overlap", OVERLAP, write_all, 0, 0},
};

/* A new file on a medium; the name is the same on all ranks. */
static void new_file(const char *figure, char *path)
{
    const char *medium = strchr(figure, '@');
    const char *folder = "/dev/shm";
    if (medium == NULL || strcmp(medium + 1, "tmpfs") != 0)
        folder = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/var/tmp";
    int made = -1;
    if (rank == 0) {
        snprintf(path, PATH_BYTES, "%s/oxmpi-bench-XXXXXX", folder);
        made = mkstemp(path);
    }
    MPI_Bcast(path, PATH_BYTES, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 0 && made < 0)
        give_up("no file can be made there", path);
    if (made >= 0)
        close(made);
}

/* Blocks of ranks in each dimension: 2 x 2 x 1 and 4 x 2 x 2, and what MPI_Dims_create gives for other numbers. */
static void grid(int blocks[3])
{
    blocks[0] = blocks[1] = blocks[2] = 0;
    MPI_Dims_create(size, 3, blocks);
}

static void cube_of_rank(const struct work *work, int from[3], int edges[3])
{
    int blocks[3], left = rank;
    grid(blocks);
    for (int axis = 2; axis >= 0; axis--) {
        edges[axis] = (int)(work->bytes / blocks[axis]);
        from[axis] = left % blocks[axis] * edges[axis];
        left /= blocks[axis];
    }
}

static void prepare(struct work *work)
{
    MPI_Datatype etype = MPI_BYTE, view = MPI_DATATYPE_NULL;
    MPI_Offset begin = 0;
    int from[3], edges[3], all[3];
    switch (work->kind->shape) {
    case RANGE:
        work->total = RANGES_BYTES;
        break;
    case PIECES:
        work->total = work->bytes < TINY ? TINY_PIECES_BYTES : PIECES_BYTES;
        break;
    case CUBE:
        work->total = work->bytes * work->bytes * work->bytes * 8;
        break;
    case APPEND:
        work->total = work->bytes * APPENDS * size;
        break;
    case OVERLAP:
        work->total = work->bytes;
        begin = rank * (work->total / size);
    }
    work->mine = work->total / size;
    if (work->mine < 1 || work->total % size != 0 || (work->kind->shape == PIECES && work->mine % work->bytes != 0))
        give_up("the data cannot be divided among so many ranks", work->kind->name);
    if (work->kind->shape == PIECES) {
        MPI_Datatype piece;
        MPI_Type_contiguous((int)work->bytes, MPI_BYTE, &piece);
        MPI_Type_create_resized(piece, 0, work->bytes * size, &view);
        MPI_Type_free(&piece);
        begin = rank * work->bytes;
    } else if (work->kind->shape == CUBE) {
        cube_of_rank(work, from, edges);
        for (int axis = 0; axis < 3; axis++)
            all[axis] = (int)work->bytes;
        MPI_Type_create_subarray(3, all, edges, from, MPI_ORDER_C, MPI_DOUBLE, &view);
        etype = MPI_DOUBLE;
    }
    if (view != MPI_DATATYPE_NULL) {
        MPI_Type_commit(&view);
        check(MPI_File_set_view(work->file, begin, etype, view, "native", MPI_INFO_NULL), "MPI_File_set_view");
        MPI_Type_free(&view);
    } else if (begin > 0 || work->kind->shape == OVERLAP)
        check(MPI_File_set_view(work->file, begin, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), "MPI_File_set_view");
    work->data = memory((size_t)work->mine);
    fill(work->data, work->mine, rank, 0);
}

/* A part of the file, read without MPI as far ahead as it is kept. */
struct view_of_file {
    int plain;
    long start, have;
    char kept[1 << 20];
};

/* Whether the file has these bytes at a place. */
static int has(struct view_of_file *file, long place, const char *bytes, long count)
{
    for (long done = 0, some; done < count; done += some) {
        long at = place + done;
        if (at < file->start || at >= file->start + file->have) {
            file->start = at;
            file->have = pread(file->plain, file->kept, sizeof file->kept, at);
            if (file->have <= 0)
                return 0;
        }
        long left = file->start + file->have - at;
        some = count - done < left ? count - done : left;
        if (memcmp(file->kept + (at - file->start), bytes + done, (size_t)some) != 0)
            return 0;
    }
    return 1;
}

/* Whether the file has this rank's data at their places. */
static int file_right(const struct work *work)
{
    static struct view_of_file file;
    file.plain = work->plain;
    file.have = 0;
    int from[3], edges[3];
    long place = 0, edge = work->bytes, found = 0;
    switch (work->kind->shape) {
    case RANGE:
    case OVERLAP:
        return has(&file, rank * work->mine, work->data, work->mine);
    case PIECES:
        for (; place < work->mine; place += edge)
            if (!has(&file, place * size + rank * edge, work->data + place, edge))
                return 0;
        return 1;
    case CUBE:
        cube_of_rank(work, from, edges);
        for (long x = 0; x < edges[0]; x++)
            for (long y = 0; y < edges[1]; y++, place += edges[2] * 8) {
                long row = ((from[0] + x) * edge + from[1] + y) * edge + from[2];
                if (!has(&file, row * 8, work->data + place, edges[2] * 8))
                    return 0;
            }
        return 1;
    case APPEND:
        for (; place < work->total; place += work->bytes)
            found += has(&file, place, work->data, work->bytes);
        return found == APPENDS;
    }
    return 0;
}

static double median_of(double *values, int count)
{
    qsort(values, (size_t)count, sizeof values[0], ascending);
    return values[count / 2];
}

/* The share of a nonblocking collective write that is over when the computing ends, in percent. */
static double overlap(const struct work *work, int *count)
{
    double found[OVERLAPS];
    *count = seconds < SHORT_SECONDS ? 1 : OVERLAPS;
    for (int turn = 0; turn < *count; turn++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double times[2] = {MPI_Wtime(), 0}, slowest[2];
        write_all(work, 1);
        times[0] = MPI_Wtime() - times[0];
        MPI_Request request;
        MPI_Barrier(MPI_COMM_WORLD);
        check(MPI_File_iwrite_at_all(work->file, 0, work->data, (int)work->mine, MPI_BYTE, &request),
              "MPI_File_iwrite_at_all");
        double begin = MPI_Wtime();
        volatile double sum = 0;
        while (MPI_Wtime() - begin < COMPUTING)
            for (int step = 0; step < 1000; step++)
                sum += step * 1e-3;
        begin = MPI_Wtime();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        times[1] = MPI_Wtime() - begin;
        MPI_Reduce(times, slowest, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        double left = rank == 0 ? slowest[1] / slowest[0] : 0;
        found[turn] = left < 1 ? 100 * (1 - left) : 0.01;
    }
    return median_of(found, *count);
}

/* Seconds of one operation without MPI, and of the same with it, measured in turns: what else the machine does in the
 * meantime concerns both. Rank 0 decides how often. */
static void measure_in_turns(const struct work *work, operation *const by[2], double found[2], int *count)
{
    static double samples[2][SAMPLES_MAX];
    double began = MPI_Wtime();
    int going = 1;
    for (*count = 0; going; ++*count) {
        for (int turn = 0; turn < 2; turn++) {
            /* Each is the first in half of the turns. */
            int which = (turn + *count) % 2;
            MPI_Barrier(MPI_COMM_WORLD);
            double start = now();
            by[which](work, 1);
            samples[which][*count] = span(start, now());
        }
        going = *count + 1 < SAMPLES_MAX && (*count + 1 < SAMPLES_WANTED || MPI_Wtime() - began < 2 * seconds);
        MPI_Bcast(&going, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    for (int which = 0; which < 2; which++)
        found[which] = median_of(samples[which], *count);
}

static void print_figure(const char *figure, const char *unit, double value, int count)
{
    if (rank == 0) {
        printf("{\"figure\":\"%s\",\"unit\":\"%s\",\"value\":%.6g,\"count\":%d}\n", figure, unit, value, count);
        fflush(stdout);
    }
}

void run_figure(const char *figure, int threads_provided)
{
    (void)threads_provided;
    static char given[PATH_BYTES]; /* the figure that came with the one before */
    if (strcmp(figure, given) == 0)
        return;
    char path[PATH_BYTES] = "";
    const char *colon = strchr(figure, ':');
    struct work work = {.kind = KIND_OF(figure), .bytes = colon == NULL ? 0 : atol(colon + 1)};
    new_file(figure, path);
    work.plain = open(path, O_RDWR);
    if (work.plain < 0)
        give_up("cannot be opened", path);
    check(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &work.file), "MPI_File_open");
    prepare(&work);
    /* The first operation is checked: a library that does nothing would be the fastest. */
    operation *first = work.kind->reads ? work.kind->shape == RANGE ? write_range : write_all : work.kind->run;
    first(&work, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!file_right(&work))
        give_up("the file does not have what was written", figure);
    if (work.kind->reads) {
        memset(work.data, 0, (size_t)work.mine);
        work.kind->run(&work, 1);
        if (!holds(work.data, work.mine, rank, 0))
            give_up("other data were read than are in the file", figure);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int count;
    if (work.kind->is_plain) {
        operation *const by[2] = {work.kind->run, work.kind->reads ? read_range : write_range};
        double times[2];
        measure_in_turns(&work, by, times, &count);
        /* The name of the figure by MPI lacks the first letter. */
        snprintf(given, sizeof given, "%s", figure + 1);
        print_figure(figure, "GB/s", work.total / times[0] / 1e9, count);
        print_figure(given, "GB/s", work.total / times[1] / 1e9, count);
    } else if (work.kind->shape == OVERLAP) {
        double value = overlap(&work, &count);
        print_figure(figure, "%", value, count);
    } else {
        double value = measure(work.kind->run, &work, &count);
        if (work.kind->shape == APPEND)
            print_figure(figure, "M/s", (double)size * APPENDS / value / 1e6, count);
        else
            print_figure(figure, "GB/s", work.total / value / 1e9, count);
    }
    check(MPI_File_close(&work.file), "MPI_File_close");
    close(work.plain);
    if (rank == 0)
        unlink(path);
    forget_memory();
}
