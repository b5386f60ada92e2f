// SPDX-License-Identifier: GPL-2.0
/* messages.c: messages of all kinds of memory and all lengths come as they were sent. */
#include "oxk_test.h"

static const u64 lengths[] = { 0, 1, 511, 512, 4095, 4097, 16384, 16385, 70001, 1000003 };

struct way {
	bool posted; /* the receive comes first */
	bool sync;
	u32 flags;
};

static int exchange(struct test *test, struct pair *pair, enum kind from, enum kind to, u64 bytes,
		    struct way way)
{
	struct memory source = {}, target = {};
	struct oxk_request send = {}, receive = {};
	u64 name = test_random(test, 1 << 30);
	struct oxk_status found;
	int error, i;

	/* kmalloc has no longer ones. */
	if ((from == KMALLOC || to == KMALLOC) && bytes > (1 << 20))
		return 0;
	error = memory_new(&source, from, bytes, test_random(test, 4096));
	if (!error)
		error = memory_new(&target, to, bytes, test_random(test, 4096));
	if (error)
		goto out;
	source.vector.flags = target.vector.flags = way.flags;
	memory_fill(&source, name);
	if (way.posted)
		expect(test, oxk_irecv(pair->second, name, OXK_MASK_FULL, &target.vector, &receive),
		       0);
	expect(test,
	       way.sync ? oxk_issend(pair->first, pair->peer, name, &source.vector, &send)
			: oxk_isend(pair->first, pair->peer, name, &source.vector, &send),
	       0);
	if (!way.posted) {
		for (i = 0; i < 2000 && oxk_probe(pair->second, name, OXK_MASK_FULL, &found); i++)
			msleep(1);
		expect(test, oxk_probe(pair->second, name, OXK_MASK_FULL, &found), 0);
		expect(test, found.bytes, bytes);
		expect(test, found.match, name);
		expect(test, oxk_irecv(pair->second, name, OXK_MASK_FULL, &target.vector, &receive),
		       0);
	}
	/* A peer that is lost ends the send, but not a receive, which waits for another. */
	expect(test, test_wait(&send), 0);
	expect(test, test_wait(&receive), 0);
	expect(test, receive.status.bytes, bytes);
	expect(test, receive.status.placed, bytes);
	expect(test, receive.status.match, name);
	expect(test, send.status.bytes, bytes);
	if (memory_differs(&target, name, bytes) != bytes)
		error = fail(test, "%d to %d, %llu bytes, posted %d, sync %d: byte %llu differs",
			     from, to, bytes, way.posted, way.sync,
			     memory_differs(&target, name, bytes));
out:
	if (error && !test->why[0])
		fail(test, "no memory");
	/* What is still under way ends with the pair. */
	if (error && pair->first)
		pair_close(pair);
	memory_free(&source);
	memory_free(&target);
	return error;
}

static int all_kinds(struct test *test)
{
	struct pair pair;
	u32 from, to, i;
	int error;

	pair_params(&pair);
	error = pair_open(test, &pair);
	for (from = 0; from < KINDS && !error; from++)
		for (to = 0; to < KINDS && !error; to++)
			for (i = 0; i < ARRAY_SIZE(lengths) && !error; i++) {
				struct way way = { .posted = test_random(test, 2),
						   .sync = test_random(test, 2) };

				error = exchange(test, &pair, from, to, lengths[i], way);
			}
	pair_close(&pair);
	return error;
}

/* Long ones, posted before and after, whichever way. */
static int long_messages(struct test *test)
{
	struct pair pair;
	u32 i;
	int error;

	pair_params(&pair);
	error = pair_open(test, &pair);
	for (i = 0; i < 6 && !error; i++)
		error = exchange(test, &pair, i % 2 ? PAGES : USER, i % 3 ? VMALLOC : PAGES,
				 (3 << 20) + i, (struct way) { .posted = i & 1, .sync = i & 2 });
	pair_close(&pair);
	return error;
}

/* What a bounce costs is two copies more, and nothing else is different. */
static int bounce(struct test *test)
{
	struct oxk_counts plain[2], bounced[2];
	u64 bytes = 0;
	struct pair pair;
	u32 round, i;
	int error = 0;

	for (round = 0; round < 2 && !error; round++) {
		struct oxk_counts *counts = round ? bounced : plain;

		pair_params(&pair);
		error = pair_open(test, &pair);
		for (bytes = i = 0; i < ARRAY_SIZE(lengths) && !error; i++) {
			error = exchange(
				test, &pair, PAGES, PAGES, lengths[i],
				(struct way) { .posted = true, .flags = round ? OXK_BOUNCE : 0 });
			bytes += lengths[i];
		}
		if (!error) {
			oxk_count(pair.first, &counts[0]);
			oxk_count(pair.second, &counts[1]);
		}
		pair_close(&pair);
	}
	if (error)
		return error;
	expect(test, plain[0].bytes_bounced, 0);
	expect(test, plain[1].bytes_bounced, 0);
	expect(test, bounced[0].bytes_bounced, bytes);
	expect(test, bounced[1].bytes_bounced, bytes);
	expect(test, plain[1].bytes_placed, bytes);
	expect(test, bounced[1].bytes_placed, bytes);
	expect(test, plain[1].bytes_kept, 0);
	expect(test, plain[0].bytes_lent + plain[0].bytes_copied, bytes);
	expect(test, plain[0].bytes_copied, 0 + 1 + 511);
	expect(test, bounced[0].bytes_copied, 0 + 1 + 511);
	expect(test, plain[0].messages_sent, ARRAY_SIZE(lengths));
	expect(test, plain[1].messages_received, ARRAY_SIZE(lengths));
out:
	return error;
}

enum { N = 8 };

struct many {
	struct memory source, target[N];
	struct oxk_request send, receive[N];
};

/* Pages of the caller can be changed as soon as a send is over: what was sent stays as it was. */
static int changed_after(struct test *test)
{
	struct many *many = kzalloc(sizeof(*many), GFP_KERNEL);
	struct pair pair;
	int error, i;

	pair_params(&pair);
	error = pair_open(test, &pair);
	if (!error)
		error = memory_new(&many->source, PAGES, 300000, 0);
	for (i = 0; i < N && !error; i++)
		error = memory_new(&many->target[i], PAGES, 300000, 0);
	if (error)
		goto out;
	for (i = 0; i < N; i++)
		expect(test,
		       oxk_irecv(pair.second, i, OXK_MASK_FULL, &many->target[i].vector,
				 &many->receive[i]),
		       0);
	for (i = 0; i < N; i++) {
		memory_fill(&many->source, i);
		expect(test, oxk_isend(pair.first, pair.peer, i, &many->source.vector, &many->send),
		       0);
		expect(test, test_wait(&many->send), 0);
	}
	for (i = 0; i < N; i++) {
		expect(test, test_wait(&many->receive[i]), 0);
		expect(test, memory_differs(&many->target[i], i, 300000), 300000);
	}
out:
	pair_close(&pair);
	memory_free(&many->source);
	for (i = 0; i < N; i++)
		memory_free(&many->target[i]);
	kfree(many);
	return error;
}

const struct test_case test_messages[] = {
	{ "all_kinds", all_kinds },
	{ "long_messages", long_messages },
	{ "bounce", bounce },
	{ "changed_after", changed_after },
	{},
};
