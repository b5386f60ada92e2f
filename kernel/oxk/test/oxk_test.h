/* SPDX-License-Identifier: GPL-2.0
 *
 * oxk_test.h: what the cases of oxk_test.ko share. A case is a function that returns 0, or has said
 * why not by `fail`. main.c runs the case whose name is written to /sys/kernel/debug/oxk_test/run,
 * in the context of the process that writes it; `why` then has the reason of a failure.
 */
#ifndef OXK_TEST_H
#define OXK_TEST_H

#include <linux/delay.h>
#include <linux/in.h>
#include <linux/kernel.h>
#include <linux/key.h>
#include <linux/slab.h>

#include "../../include/oxk.h"

/* What a case is run with. */
struct test {
	struct net *near, *far; /* of the two endpoints of a pair */
	__be32 address;		/* of the second */
	bool pm;		/* what carries */
	u64 seed;
	char why[240];
};

struct test_case {
	const char *name;
	int (*run)(struct test *test);
};

extern const struct test_case test_messages[], test_matching[], test_handler[], test_errors[],
	test_ends[], test_bounds[];

/* Says why a case fails; -EINVAL. */
int __printf(4, 5) test_fail(struct test *test, const char *file, int line, const char *why, ...);
#define fail(test, ...) test_fail(test, __FILE__, __LINE__, __VA_ARGS__)
/* Gives up unless two numbers are equal. */
#define expect(test, got, wanted)                                                        \
	do {                                                                             \
		long long got_ = (got), wanted_ = (wanted);                              \
		if (got_ != wanted_) {                                                   \
			error = fail(test, "%s is %lld, not %lld", #got, got_, wanted_); \
			goto out;                                                        \
		}                                                                        \
	} while (0)

/* Puts a text where reasons of failures are read. */
void test_say(const char *text);
u32 test_random(struct test *test, u32 below);
struct key *test_key(const u8 *bytes, u32 n);
int test_wait(struct oxk_request *request);

/* Two endpoints; the first has connected to the second. */
struct pair {
	struct oxk_endpoint *first, *second;
	oxk_peer_t peer; /* the second, for the first */
	struct oxk_params params;
	struct sockaddr_in address;
	atomic_t n_lost; /* peers, of both */
	int lost_error;
};

/* Waits until something is so, or for a minute: an emulated CPU may have to wait for a busy one. */
#define until(condition)                                                                \
	do {                                                                            \
		unsigned long until_end = jiffies + 60 * HZ;                            \
		while (!(condition) && time_before(jiffies, until_end))                 \
			msleep(1);                                                      \
	} while (0)

/* Bounds of pairs, unless a case changes them. */
void pair_params(struct pair *pair);
int pair_open(struct test *test, struct pair *pair);
void pair_close(struct pair *pair);

/* Memory of every kind. */
enum kind { KMALLOC, VMALLOC, PAGES, USER, KINDS };
struct memory {
	enum kind kind;
	u64 bytes;
	u32 offset; /* within its first page */
	void *at;   /* KMALLOC, VMALLOC */
	unsigned long user;
	struct page **pages;
	u32 n_pages;
	struct kvec *kernel;
	struct iovec entry;
	struct bio_vec *pieces;
	struct iovec __user *user_entry;
	struct oxk_vector vector;
};

int memory_new(struct memory *memory, enum kind kind, u64 bytes, u32 offset);
void memory_free(struct memory *memory);
void memory_fill(struct memory *memory, u64 name);
/* The first byte that is not as filled by that name; `bytes` if there is none. */
u64 memory_differs(struct memory *memory, u64 name, u64 bytes);

int echo_open(struct test *test, u16 port, const u8 *key);
void echo_close(void);

/* So many round trips by PM, and how the answers are awaited: `r` reaped, `s` by spinning, `w`
 * asleep. */
int ping(struct test *test, const char *way, u32 n);

/* Waits at a port for a peer that keeps a request from ending: `r` receives, `s` sends; followed by
 * `g`, the caller gives it up instead of being killed. */
int held(struct test *test, u16 port, const u8 *key, const char *what);

#endif
