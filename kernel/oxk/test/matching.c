// SPDX-License-Identifier: GPL-2.0
/* matching.c: which message meets which receive, against two plain lists; probe and cancel. */
#include "oxk_test.h"

enum { N = 40 };

struct round {
	u64 match[N], mask[N], bits[N];
	u32 into[N], value[N];
	struct kvec from[N], to[N];
	struct oxk_request send[N], receive[N];
	int message_of[N]; /* of each receive; -1: none */
};

static bool accepts(const struct round *round, u32 receive, u32 message)
{
	return !((round->bits[message] ^ round->match[receive]) & round->mask[receive]);
}

static void draw(struct test *test, struct round *round)
{
	static const u64 masks[] = { OXK_MASK_FULL, OXK_MASK_ANY, 1, 3, 0xf0, 7ull << 60 };
	u32 i;

	for (i = 0; i < N; i++) {
		round->bits[i] = test_random(test, 4) | (u64)test_random(test, 2) << 61;
		round->match[i] = test_random(test, 4) | (u64)test_random(test, 2) << 61;
		round->mask[i] = masks[test_random(test, ARRAY_SIZE(masks))];
		round->value[i] = i + 1;
		round->message_of[i] = -1;
		round->from[i] = (struct kvec) { .iov_base = &round->value[i], .iov_len = 4 };
		round->to[i] = (struct kvec) { .iov_base = &round->into[i], .iov_len = 4 };
	}
}

/* What the plain lists say: messages look for receives, or receives for messages. */
static void oracle(struct round *round, bool posted)
{
	bool taken[N] = {};
	u32 i, j;

	for (i = 0; i < N; i++)
		for (j = 0; j < N; j++) {
			u32 message = posted ? i : j, receive = posted ? j : i;

			if (taken[j] || !accepts(round, receive, message))
				continue;
			taken[j] = true;
			round->message_of[receive] = message;
			break;
		}
}

static int send_all(struct test *test, struct pair *pair, struct round *round)
{
	int error = 0;
	u32 i;

	for (i = 0; i < N; i++) {
		struct oxk_vector vector = { .kind = OXK_KERNEL,
					     .n = 1,
					     .kernel = &round->from[i] };

		expect(test,
		       oxk_isend(pair->first, pair->peer, round->bits[i], &vector, &round->send[i]),
		       0);
	}
	for (i = 0; i < N; i++)
		expect(test, test_wait(&round->send[i]), 0);
out:
	return error;
}

/* The last message is one that nothing else accepts. */
static int flush(struct test *test, struct pair *pair)
{
	u64 last = 1ull << 40;
	struct oxk_request send = {};
	struct oxk_vector nothing = { .kind = OXK_KERNEL };
	struct oxk_status found;
	int error = 0;

	expect(test, oxk_isend(pair->first, pair->peer, last, &nothing, &send), 0);
	until(!oxk_probe(pair->second, last, last, &found));
	expect(test, oxk_probe(pair->second, last, last, &found), 0);
	expect(test, oxk_irecv(pair->second, last, last, &nothing, &send), 0);
	expect(test, test_wait(&send), 0);
out:
	return error;
}

static int play(struct test *test, struct pair *pair, struct round *round, bool posted)
{
	int error = 0;
	u32 i;

	draw(test, round);
	oracle(round, posted);
	if (!posted) {
		error = send_all(test, pair, round);
		if (!error)
			error = flush(test, pair);
	}
	for (i = 0; i < N && !error; i++) {
		struct oxk_vector vector = { .kind = OXK_KERNEL, .n = 1, .kernel = &round->to[i] };

		expect(test,
		       oxk_irecv(pair->second, round->match[i], round->mask[i], &vector,
				 &round->receive[i]),
		       0);
	}
	if (!error && posted)
		error = send_all(test, pair, round);
	for (i = 0; i < N && !error; i++) {
		if (round->message_of[i] < 0)
			continue;
		expect(test, test_wait(&round->receive[i]), 0);
		expect(test, round->into[i], round->message_of[i] + 1);
		expect(test, round->receive[i].status.match, round->bits[round->message_of[i]]);
		expect(test, oxk_cancel(&round->receive[i]), -ENOENT);
	}
	for (i = 0; i < N && !error; i++)
		if (round->message_of[i] < 0)
			expect(test, oxk_cancel(&round->receive[i]), 0);
out:
	return error;
}

/* Takes what no receive accepted. */
static int drain(struct test *test, struct pair *pair)
{
	struct oxk_vector nothing = { .kind = OXK_KERNEL };
	struct oxk_request request = {};
	struct oxk_status found;
	int error = flush(test, pair);

	while (!error && !oxk_probe(pair->second, 0, OXK_MASK_ANY, &found)) {
		expect(test, oxk_irecv(pair->second, 0, OXK_MASK_ANY, &nothing, &request), 0);
		expect(test, test_wait(&request), found.bytes ? -EMSGSIZE : 0);
		expect(test, request.status.placed, 0);
		expect(test, request.status.bytes, found.bytes);
	}
out:
	return error;
}

static int order(struct test *test)
{
	struct round *round = kvzalloc(sizeof(*round), GFP_KERNEL);
	struct pair pair;
	int error, i;

	if (!round)
		return fail(test, "no memory");
	pair_params(&pair);
	error = pair_open(test, &pair);
	for (i = 0; i < 12 && !error; i++) {
		error = play(test, &pair, round, i & 1);
		if (!error)
			error = drain(test, &pair);
	}
	pair_close(&pair);
	kvfree(round);
	return error;
}

static int cancel(struct test *test)
{
	u32 value = 7, into = 0;
	struct kvec from = { .iov_base = &value, .iov_len = 4 },
		    to = { .iov_base = &into, .iov_len = 4 };
	struct oxk_vector out_vector = { .kind = OXK_KERNEL, .n = 1, .kernel = &from };
	struct oxk_vector in_vector = { .kind = OXK_KERNEL, .n = 1, .kernel = &to };
	struct oxk_request *send = kzalloc(sizeof(*send), GFP_KERNEL),
			   *receive = kzalloc(sizeof(*receive), GFP_KERNEL);
	struct oxk_status found;
	struct pair pair;
	int error, i, kept = 0;

	/* The stack is no memory for a vector. */
	u32 *values = kzalloc(2 * sizeof(u32), GFP_KERNEL);

	pair_params(&pair);
	error = pair_open(test, &pair);
	if (error)
		goto out;
	from.iov_base = values;
	to.iov_base = values + 1;
	expect(test, oxk_cancel(send), -ENOENT);
	expect(test, oxk_irecv(pair.second, 5, OXK_MASK_FULL, &in_vector, receive), 0);
	expect(test, oxk_test(receive), -EAGAIN);
	expect(test, oxk_cancel(receive), 0);
	expect(test, oxk_cancel(receive), -ENOENT);
	for (i = 0; i < 40; i++) {
		values[0] = i;
		expect(test, oxk_issend(pair.first, pair.peer, 5, &out_vector, send), 0);
		/* Offered, or still in the queue. */
		if (i % 4 == 0)
			for (kept = 0;
			     kept < 2000 && oxk_probe(pair.second, 5, OXK_MASK_FULL, &found);
			     kept++)
				msleep(1);
		if (i % 4 == 1)
			expect(test, oxk_irecv(pair.second, 5, OXK_MASK_FULL, &in_vector, receive),
			       0);
		switch (oxk_cancel(send)) {
		case 0:
			error = -ECANCELED;
			break;
		case -EAGAIN:
			error = test_wait(send);
			break;
		case -ENOENT:
			error = send->status.error;
			break;
		default:
			error = fail(test, "cancel");
			goto out;
		}
		kept = error;
		error = 0;
		if (kept && kept != -ECANCELED)
			expect(test, kept, -ECANCELED);
		if (i % 4 == 1) {
			/* Either both have met, or the receive still waits. */
			if (kept)
				expect(test, oxk_cancel(receive), 0);
			else
				expect(test, test_wait(receive), 0);
		} else {
			expect(test, kept, -ECANCELED);
		}
	}
	expect(test, oxk_probe(pair.second, 5, OXK_MASK_FULL, &found), -ENOENT);
out:
	pair_close(&pair);
	kfree(send);
	kfree(receive);
	kfree(values);
	return error;
}

const struct test_case test_matching[] = {
	{ "order", order },
	{ "cancel", cancel },
	{},
};
