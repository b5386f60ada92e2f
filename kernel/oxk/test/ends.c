// SPDX-License-Identifier: GPL-2.0
/* ends.c: what becomes of requests when an endpoint is closed, a peer goes, or a waiter is killed.
 */
#include "oxk_test.h"

enum { N = 16 };

struct many {
	struct pair pair;
	struct memory memory[2 * N];
	struct oxk_request request[2 * N];
	atomic_t done;
};

static void count_done(struct oxk_request *request)
{
	atomic_inc((atomic_t *)request->context);
}

static int begin(struct test *test, struct many *many, u64 bytes)
{
	int error, i;

	pair_params(&many->pair);
	error = pair_open(test, &many->pair);
	for (i = 0; i < 2 * N && !error; i++) {
		error = memory_new(&many->memory[i], i % 3 ? PAGES : VMALLOC, bytes, i);
		many->request[i] =
			(struct oxk_request) { .done = count_done, .context = &many->done };
	}
	return error;
}

static void end(struct many *many)
{
	int i;

	pair_close(&many->pair);
	for (i = 0; i < 2 * N; i++)
		memory_free(&many->memory[i]);
	kvfree(many);
}

/* Both sides know each other: each will be told that the other is lost. */
static int meet(struct test *test, struct pair *pair)
{
	struct oxk_vector nothing = { .kind = OXK_KERNEL };
	struct oxk_request hello = {};
	struct oxk_status found;
	int error = 0;

	expect(test, oxk_isend(pair->first, pair->peer, N * N, &nothing, &hello), 0);
	expect(test, test_wait(&hello), 0);
	until(!oxk_probe(pair->second, N * N, OXK_MASK_FULL, &found));
out:
	return error;
}

/* One side is closed while everything is under way. */
static int close_side(struct test *test, bool first)
{
	struct many *many = kvzalloc(sizeof(*many), GFP_KERNEL);
	int error = begin(test, many, 200000), i, ended;

	if (!error)
		error = meet(test, &many->pair);
	if (error)
		goto out;
	for (i = 0; i < N; i++) {
		/* Half of them meet nothing. */
		expect(test,
		       oxk_irecv(many->pair.second, i, OXK_MASK_FULL, &many->memory[i].vector,
				 &many->request[i]),
		       0);
		expect(test,
		       oxk_isend(many->pair.first, many->pair.peer, i * 2,
				 &many->memory[N + i].vector, &many->request[N + i]),
		       0);
	}
	msleep(test_random(test, 30));
	if (first) {
		oxk_close(many->pair.first);
		many->pair.first = NULL;
	} else {
		oxk_close(many->pair.second);
		many->pair.second = NULL;
	}
	/* Those of the side that is closed are over; its peer's sends soon are. */
	until(atomic_read(&many->done) >= (first ? N : 2 * N));
	for (i = 0; i < N; i++) {
		expect(test, oxk_test(&many->request[N + i]), 0);
		ended = many->request[N + i].status.error;
		if (ended && ended != -ESHUTDOWN)
			expect(test, ended, -ECONNRESET);
		if (first)
			continue;
		ended = many->request[i].status.error;
		if (ended && ended != -ECANCELED)
			expect(test, ended, -ESHUTDOWN);
	}
	until(atomic_read(&many->pair.n_lost) >= 2);
	expect(test, atomic_read(&many->pair.n_lost), 2);
	pair_close(&many->pair);
	expect(test, atomic_read(&many->done), 2 * N);
out:
	end(many);
	return error;
}

static int close_first(struct test *test)
{
	int error = 0, i;

	for (i = 0; i < 6 && !error; i++)
		error = close_side(test, true);
	return error;
}

static int close_second(struct test *test)
{
	int error = 0, i;

	for (i = 0; i < 6 && !error; i++)
		error = close_side(test, false);
	return error;
}

/* A message that has come whole can be received after its sender has gone. */
static int whole_stays(struct test *test)
{
	struct memory source = {}, target = {};
	struct oxk_request send = {}, receive = {};
	struct oxk_status found;
	struct pair pair;
	int error;

	pair_params(&pair);
	error = pair_open(test, &pair) ?: memory_new(&source, PAGES, 9000, 0);
	if (!error)
		error = memory_new(&target, USER, 9000, 3);
	if (error)
		goto out;
	memory_fill(&source, 11);
	expect(test, oxk_isend(pair.first, pair.peer, 1, &source.vector, &send), 0);
	expect(test, test_wait(&send), 0);
	until(!oxk_probe(pair.second, 1, OXK_MASK_FULL, &found));
	oxk_close(pair.first);
	pair.first = NULL;
	until(atomic_read(&pair.n_lost) >= 2);
	expect(test, oxk_irecv(pair.second, 1, OXK_MASK_FULL, &target.vector, &receive), 0);
	expect(test, test_wait(&receive), 0);
	expect(test, memory_differs(&target, 11, 9000), 9000);
out:
	pair_close(&pair);
	memory_free(&source);
	memory_free(&target);
	return error;
}

/* Waits for a message that never comes: the process has to be killed. */
static int wait_for_ever(struct test *test)
{
	struct memory target = {};
	struct oxk_request receive = {};
	struct pair pair;
	int error;

	pair_params(&pair);
	error = pair_open(test, &pair) ?: memory_new(&target, USER, 9000, 3);
	if (error)
		goto out;
	expect(test, oxk_irecv(pair.second, 1, OXK_MASK_FULL, &target.vector, &receive), 0);
	test_say("waits");
	expect(test, oxk_wait(&receive), -EINTR);
	expect(test, oxk_cancel(&receive), -ENOENT);
	test_say("was killed");
out:
	pair_close(&pair);
	memory_free(&target);
	return error;
}

const struct test_case test_ends[] = {
	{ "close_first", close_first },
	{ "close_second", close_second },
	{ "whole_stays", whole_stays },
	{ "wait_for_ever", wait_for_ever },
	{},
};
