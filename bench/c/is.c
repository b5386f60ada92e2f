/* The integer sort that `oxmpi bench network --against` runs with every library it compares: NAS IS, as far as its rules go.
 *
 *     is CLASS
 *
 * CLASS is S, W, A or B. Keys come from the generator of the NAS Parallel Benchmarks (x' = 5^13 x mod 2^46, each key the mean of four
 * numbers). Ten times over the rank of every key is found: keys are counted in buckets (allreduce), buckets are shared out so
 * that every process gets about as many keys, the keys travel (alltoall of the counts, alltoallv), and are counted. The published
 * ranks of five keys are verified after every iteration, the whole order at the end. Process 0 prints one JSON object: million
 * keys ranked per second, which NAS calls Mop/s, or nothing but an error. Any number of processes will do.
 *
 * It is the algorithm of `oxmpi run is`, and uses only functions of the MPI standard. */
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITERATIONS 10
#define TESTS 5
#define SEED UINT64_C(314159265)
#define MULTIPLIER UINT64_C(1220703125)
#define MODULUS_MASK ((UINT64_C(1) << 46) - 1)

/* A size of the problem, with the ranks NAS published for five of its keys: key `index` has rank `rank + sign * (iteration - delay)`. */
struct class {
    char name;
    int keys_log2, key_max_log2, buckets_log2;
    struct {
        int64_t index, rank;
        int sign, delay;
    } tests[TESTS];
};

static const struct class classes[] = {
    {'S', 16, 11, 9,
     {{48427, 0, 1, 0}, {17148, 18, 1, 0}, {23627, 346, 1, 0}, {62548, 64917, -1, 0}, {4431, 65463, -1, 0}}},
    {'W', 20, 16, 10,
     {{357773, 1249, 1, 2}, {934767, 11698, 1, 2}, {875723, 1039987, -1, 0}, {898999, 1043896, -1, 0}, {404505, 1048018, -1, 0}}},
    {'A', 23, 19, 10,
     {{2112377, 104, 1, 1}, {662041, 17523, 1, 1}, {5336171, 123928, 1, 1}, {3642833, 8288932, -1, 1}, {4250760, 8388264, -1, 1}}},
    {'B', 25, 21, 10,
     {{41869, 33422937, -1, 0}, {812306, 10244, 1, 0}, {5102857, 59149, 1, 0}, {18232239, 33135281, -1, 0}, {26860214, 99, 1, 0}}},
};

/* One process's share of the sort. */
static int rank, size;
static const struct class *class;
static int64_t first_key, key_count; /* of the sequence of all keys */
static uint32_t *keys, *by_bucket, *arrived;
static int64_t arrived_room;
static int buckets;
static uint32_t *own_sizes, *all_sizes; /* of the buckets; the five keys travel behind them */
static int *send_counts, *send_starts, *receive_counts, *receive_starts;
static uint32_t *next; /* where the next key of a bucket goes */

/* What an iteration finds out: values from first_value on belong to this process, `before` keys are smaller than those, and up_to
 * says how many keys there are up to and including a value, without `before`. */
static uint32_t first_value, value_count;
static int64_t before;
static uint32_t *up_to;

static void give_up(const char *what)
{
    fprintf(stderr, "is: rank %d of %d: error: %s\n", rank, size, what);
    MPI_Abort(MPI_COMM_WORLD, 3);
    abort();
}

static void *memory(int64_t count, size_t bytes)
{
    void *area = calloc(count > 0 ? (size_t)count : 1, bytes);
    if (area == NULL)
        give_up("out of memory");
    return area;
}

static uint64_t times(uint64_t one, uint64_t other)
{
    return one * other & MODULUS_MASK;
}

/* The keys of this process; the generator's state after any number of steps is one power away. */
static void generate(void)
{
    uint64_t state = SEED, power = MULTIPLIER;
    for (uint64_t left = 4 * (uint64_t)first_key; left > 0; left >>= 1) {
        if (left & 1)
            state = times(state, power);
        power = times(power, power);
    }
    for (int64_t place = 0; place < key_count; place++) {
        uint64_t sum = 0;
        for (int draw = 0; draw < 4; draw++)
            sum += state = times(state, MULTIPLIER);
        keys[place] = (uint32_t)(sum >> (48 - class->key_max_log2));
    }
}

static int owns(int64_t index)
{
    return index >= first_key && index < first_key + key_count;
}

static void set_key(int64_t index, uint32_t key)
{
    if (owns(index))
        keys[index - first_key] = key;
}

static void count_buckets(void)
{
    int shift = class->key_max_log2 - class->buckets_log2;
    memset(own_sizes, 0, (size_t)(buckets + TESTS) * sizeof *own_sizes);
    for (int64_t place = 0; place < key_count; place++)
        own_sizes[keys[place] >> shift]++;
    for (int test = 0; test < TESTS; test++)
        if (owns(class->tests[test].index))
            own_sizes[buckets + test] = keys[class->tests[test].index - first_key];
    MPI_Allreduce(own_sizes, all_sizes, buckets + TESTS, MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD);
}

static void sort_by_bucket(void)
{
    int shift = class->key_max_log2 - class->buckets_log2;
    uint32_t start = 0;
    for (int bucket = 0; bucket < buckets; bucket++) {
        next[bucket] = start;
        start += own_sizes[bucket];
    }
    for (int64_t place = 0; place < key_count; place++)
        by_bucket[next[keys[place] >> shift]++] = keys[place];
}

/* Gives each process consecutive buckets, up to its share of all keys. */
static void share_out(void)
{
    int shift = class->key_max_log2 - class->buckets_log2, bucket = 0;
    int64_t total = INT64_C(1) << class->keys_log2, given = 0;
    for (int owner = 0; owner < size; owner++) {
        int first = bucket, last = owner + 1 == size;
        int64_t wanted = total * (owner + 1) / size, smaller = given;
        send_counts[owner] = 0;
        while (bucket < buckets && (given < wanted || last)) {
            given += all_sizes[bucket];
            send_counts[owner] += (int)own_sizes[bucket++];
        }
        if (owner == rank) {
            before = smaller;
            first_value = (uint32_t)first << shift;
            value_count = (uint32_t)(bucket - first) << shift;
        }
    }
}

static int64_t starts(const int *counts, int *where)
{
    int64_t total = 0;
    for (int other = 0; other < size; other++) {
        where[other] = (int)total;
        total += counts[other];
    }
    return total;
}

/* Sends every key to the owner of its bucket; the number of those that came here. */
static int64_t exchange(void)
{
    MPI_Alltoall(send_counts, 1, MPI_INT, receive_counts, 1, MPI_INT, MPI_COMM_WORLD);
    starts(send_counts, send_starts);
    int64_t coming = starts(receive_counts, receive_starts);
    if (coming > arrived_room) {
        free(arrived);
        arrived = memory(coming, sizeof *arrived);
        arrived_room = coming;
    }
    MPI_Alltoallv(by_bucket, send_counts, send_starts, MPI_UINT32_T, arrived, receive_counts, receive_starts, MPI_UINT32_T,
                  MPI_COMM_WORLD);
    return coming;
}

static void rank_keys(int iteration)
{
    set_key(iteration, (uint32_t)iteration);
    set_key(iteration + ITERATIONS, (UINT32_C(1) << class->key_max_log2) - (uint32_t)iteration);
    count_buckets();
    sort_by_bucket();
    share_out();
    int64_t count = exchange();
    memset(up_to, 0, (size_t)value_count * sizeof *up_to);
    for (int64_t place = 0; place < count; place++)
        up_to[arrived[place] - first_value]++;
    uint32_t total = 0;
    for (uint32_t value = 0; value < value_count; value++)
        up_to[value] = total += up_to[value];
}

/* How many of the five keys, of those this process owns, have the rank NAS says. */
static int partial_verification(int iteration)
{
    int passed = 0;
    for (int test = 0; test < TESTS; test++) {
        uint32_t key = all_sizes[buckets + test];
        if (key < first_value || key - first_value >= value_count)
            continue;
        uint32_t value = key - first_value;
        int64_t found = before + (value == 0 ? 0 : up_to[value - 1]);
        int64_t expected = class->tests[test].rank + class->tests[test].sign * (iteration - class->tests[test].delay);
        if (found == expected)
            passed++;
        else
            fprintf(stderr, "is: iteration %d: key %u has rank %lld, NAS says %lld\n", iteration, (unsigned)key,
                    (long long)found, (long long)expected);
    }
    return passed;
}

/* Writes the keys out in the order of their ranks, and looks at every neighbouring pair, across processes too, and at their number. */
static int full_verification(void)
{
    int64_t count = value_count == 0 ? 0 : up_to[value_count - 1], wrong = 0;
    uint32_t *sorted = memory(count, sizeof *sorted);
    for (uint32_t value = 0, place = 0; value < value_count; value++)
        while (place < up_to[value])
            sorted[place++] = first_value + value;
    for (int64_t place = 1; place < count; place++)
        wrong += sorted[place - 1] > sorted[place];
    uint32_t ends[2] = {UINT32_MAX, UINT32_MAX};
    if (count > 0) {
        ends[0] = sorted[0];
        ends[1] = sorted[count - 1];
    }
    uint32_t *all_ends = memory(2 * size, sizeof *all_ends);
    MPI_Allgather(ends, 2, MPI_UINT32_T, all_ends, 2, MPI_UINT32_T, MPI_COMM_WORLD);
    uint32_t last = 0;
    for (int place = 0; place < 2 * size; place++)
        if (all_ends[place] != UINT32_MAX) {
            wrong += all_ends[place] < last;
            last = all_ends[place];
        }
    int64_t mine[2] = {count, wrong}, all[2];
    MPI_Allreduce(mine, all, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    free(sorted);
    free(all_ends);
    return all[0] == INT64_C(1) << class->keys_log2 && all[1] == 0;
}

static void prepare(void)
{
    int64_t total = INT64_C(1) << class->keys_log2;
    first_key = total * rank / size;
    key_count = total * (rank + 1) / size - first_key;
    buckets = 1 << class->buckets_log2;
    keys = memory(key_count, sizeof *keys);
    by_bucket = memory(key_count, sizeof *by_bucket);
    next = memory(buckets, sizeof *next);
    own_sizes = memory(buckets + TESTS, sizeof *own_sizes);
    all_sizes = memory(buckets + TESTS, sizeof *all_sizes);
    up_to = memory(INT64_C(1) << class->key_max_log2, sizeof *up_to);
    int **tables[] = {&send_counts, &send_starts, &receive_counts, &receive_starts};
    for (int table = 0; table < 4; table++)
        *tables[table] = memory(size, sizeof(int));
    generate();
}

static void report(double seconds)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    printf("{\"library\":\"%.*s\"}\n", (int)strcspn(version, "\n\r\t\"\\"), version);
    double ranked = (double)ITERATIONS * (double)(INT64_C(1) << class->keys_log2);
    printf("{\"figure\":\"is:%c\",\"unit\":\"M/s\",\"value\":%.6g,\"count\":%d}\n", class->name, ranked / seconds / 1e6,
           ITERATIONS);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t index = 0; argc == 2 && index < sizeof classes / sizeof classes[0]; index++)
        if (strlen(argv[1]) == 1 && argv[1][0] == classes[index].name)
            class = &classes[index];
    if (class == NULL)
        give_up("which class? is S, is W, is A or is B");
    prepare();
    /* One iteration before the clock starts makes connections and touches memory, as NAS's rules allow. */
    rank_keys(1);
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = MPI_Wtime(), slowest = 0;
    int passed = 0, all_passed = 0;
    for (int iteration = 1; iteration <= ITERATIONS; iteration++) {
        rank_keys(iteration);
        passed += partial_verification(iteration);
    }
    seconds = MPI_Wtime() - seconds;
    MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&passed, &all_passed, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    int sorted = full_verification();
    if (rank == 0) {
        if (all_passed != ITERATIONS * TESTS || !sorted)
            give_up("verification failed");
        report(slowest);
    }
    MPI_Finalize();
    return 0;
}
