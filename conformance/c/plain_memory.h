/* What the programs about lengths of plain memory share: what is sent, received and expected, lengths around those where
 * libraries change their way, and a check of all elements at once. */
#ifndef CONFORMANCE_PLAIN_MEMORY_H
#define CONFORMANCE_PLAIN_MEMORY_H

#include "check.h"

enum { LONGEST = 20000, PLACES = 5 * (LONGEST + 3) };

static long sent[PLACES], got[PLACES], wanted[PLACES];

/* The element at a place of what one rank has for another. */
static long element(int from, int to, int place)
{
    return 1000000L * from + 100000L * to + place + 1;
}

static void check_got(int count)
{
    int wrong = 0;
    for (int place = 0; place < count; place++) wrong += got[place] != wanted[place];
    CHECK_INT(wrong, 0);
}

static void clear(void)
{
    for (int place = 0; place < PLACES; place++) got[place] = wanted[place] = -1;
}
static const int lengths[] = {0, 1, 2, 3, 6, 7, 16, 128, 129, 300, 1024, 1025, 2100, 8192, 8193, LONGEST};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

#endif
