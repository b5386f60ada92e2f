/* What every conformance program shares: start, finish, and checks that say rank, line, what was wanted and what came.
 *
 * A failed check never ends the program, so that one run shows everything that is wrong; finish() turns failures into a
 * non-zero status, and rank 0 prints "ok" only if all of its own checks held. No check communicates: a program tests
 * its own topic and needs nothing else of the library to report. */
#ifndef CONFORMANCE_CHECK_H
#define CONFORMANCE_CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_failures = 0;
static int world_rank = -1;
static int world_size = -1;

#define CHECK(condition) ((condition) ? (void)0 : check_fail(__LINE__, #condition " does not hold"))
#define CHECK_INT(got, wanted) check_int(__LINE__, #got, (long long)(got), (long long)(wanted))
#define CHECK_DOUBLE(got, wanted) check_double(__LINE__, #got, (double)(got), (double)(wanted))
#define CHECK_STRING(got, wanted) check_string(__LINE__, #got, (got), (wanted))
#define CHECK_BYTES(got, wanted, length) check_bytes(__LINE__, #got, (got), (wanted), (length))
/* The call returned MPI_SUCCESS. */
#define CHECK_CALL(call) check_class(__LINE__, #call, (call), MPI_SUCCESS)
/* The call returned a code of this class. */
#define CHECK_CLASS(call, wanted) check_class(__LINE__, #call, (call), (wanted))

static inline void check_fail(int line, const char *text)
{
    check_failures++;
    printf("rank %d: line %d: %s\n", world_rank, line, text);
    fflush(stdout);
}

static inline void check_int(int line, const char *what, long long got, long long wanted)
{
    if (got == wanted) return;
    check_failures++;
    printf("rank %d: line %d: %s is %lld, wanted %lld\n", world_rank, line, what, got, wanted);
    fflush(stdout);
}

static inline void check_double(int line, const char *what, double got, double wanted)
{
    if (got == wanted) return;
    check_failures++;
    printf("rank %d: line %d: %s is %.17g, wanted %.17g\n", world_rank, line, what, got, wanted);
    fflush(stdout);
}

static inline void check_string(int line, const char *what, const char *got, const char *wanted)
{
    if (strcmp(got, wanted) == 0) return;
    check_failures++;
    printf("rank %d: line %d: %s is \"%s\", wanted \"%s\"\n", world_rank, line, what, got, wanted);
    fflush(stdout);
}

static inline void check_bytes(int line, const char *what, const void *got, const void *wanted, size_t length)
{
    const unsigned char *left = got, *right = wanted;
    for (size_t i = 0; i < length; i++) {
        if (left[i] == right[i]) continue;
        check_failures++;
        printf("rank %d: line %d: byte %zu of %s is %02x, wanted %02x\n", world_rank, line, i, what, left[i], right[i]);
        fflush(stdout);
        return;
    }
}

static inline void check_class(int line, const char *call, int code, int wanted)
{
    int class = code, length = 0;
    char text[MPI_MAX_ERROR_STRING] = "";
    if (code != MPI_SUCCESS) {
        MPI_Error_class(code, &class);
        MPI_Error_string(code, text, &length);
    }
    if (class == wanted) return;
    check_failures++;
    printf("rank %d: line %d: %s gave class %d (%s), wanted class %d\n", world_rank, line, call, class, text, wanted);
    fflush(stdout);
}

/* MPI is initialised by now, by whatever call. */
static inline void started(void)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
}

static inline void start(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    started();
}

/* Errors come back as codes. Since MPI 4.0 an error of a call without communicator goes to the handler of MPI_COMM_SELF. */
static inline void errors_return(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

/* The verdict, for a program that has already called MPI_Finalize. */
static inline int verdict(void)
{
    if (check_failures == 0 && world_rank <= 0) printf("ok\n");
    fflush(stdout);
    return check_failures == 0 ? 0 : 1;
}

static inline int finish(void)
{
    MPI_Finalize();
    return verdict();
}

#endif
