// SPDX-License-Identifier: GPL-2.0
/* ping.c: messages of 8 bytes back and forth, carried by PM, by the ways in which one can wait for
 * the answer. The far end answers from its callback, so nobody waits there. */
#include <linux/sched/signal.h>

#include "oxk_test.h"

enum { BYTES = 8 };

struct far {
	struct oxk_endpoint *endpoint;
	struct oxk_request receive, send;
	u64 bytes;
	struct kvec entry;
};

static void far_post(struct far *far)
{
	struct oxk_vector vector = { .kind = OXK_KERNEL, .n = 1, .kernel = &far->entry };

	oxk_irecv(far->endpoint, 0, OXK_MASK_ANY, &vector, &far->receive);
}

static void far_sent(struct oxk_request *request)
{
	if (!request->status.error)
		far_post(request->context);
}

static void far_received(struct oxk_request *request)
{
	struct far *far = request->context;
	struct oxk_vector vector = { .kind = OXK_KERNEL, .n = 1, .kernel = &far->entry };

	if (!request->status.error)
		oxk_isend(far->endpoint, request->status.peer, request->status.match, &vector,
			  &far->send);
}

/* Waits by asking again and again, while the card's interrupt has its driver run. */
static int spin(struct oxk_request *request)
{
	unsigned long until = jiffies + 20 * HZ;

	while (oxk_test(request)) {
		if (fatal_signal_pending(current) || time_after(jiffies, until))
			return oxk_wait(request);
		cond_resched();
	}
	return 0;
}

static int round_trip(struct test *test, struct pair *pair, u64 name, bool spinning, u64 *bytes)
{
	struct kvec entry[2] = { { .iov_base = bytes, .iov_len = BYTES },
				 { .iov_base = bytes + 1, .iov_len = BYTES } };
	struct oxk_vector out = { .kind = OXK_KERNEL, .n = 1, .kernel = &entry[0] };
	struct oxk_vector in = { .kind = OXK_KERNEL, .n = 1, .kernel = &entry[1] };
	struct oxk_request send = {}, receive = {};
	int error;

	bytes[0] = name;
	expect(test, oxk_irecv(pair->first, name, OXK_MASK_FULL, &in, &receive), 0);
	expect(test, oxk_isend(pair->first, pair->peer, name, &out, &send), 0);
	if (spinning)
		expect(test, spin(&receive), 0);
	expect(test, test_wait(&receive), 0);
	/* The answer acknowledges it, so it is over by now, or when its frame is freed. */
	expect(test, test_wait(&send), 0);
	expect(test, bytes[1], name);
out:
	return error;
}

/* `way`: r reaps, s spins, w sleeps. What was counted goes to `why`. */
int ping(struct test *test, const char *way, u32 n)
{
	struct far *far = kzalloc(sizeof(*far), GFP_KERNEL);
	u64 *bytes = kzalloc(2 * BYTES, GFP_KERNEL);
	struct oxk_counts before, after;
	struct pair pair;
	char text[200];
	int error;
	u32 i;

	pair_params(&pair);
	pair.params.reap_us = *way == 'r' ? 1000000 : 0;
	error = far && bytes ? pair_open(test, &pair) : -ENOMEM;
	if (error)
		goto out;
	far->endpoint = pair.second;
	far->entry = (struct kvec) { .iov_base = &far->bytes, .iov_len = BYTES };
	far->receive = (struct oxk_request) { .done = far_received, .context = far };
	far->send = (struct oxk_request) { .done = far_sent, .context = far };
	far_post(far);
	/* The connection, and the card's queue, are known after the first. */
	error = round_trip(test, &pair, 1, false, bytes);
	oxk_count(pair.first, &before);
	for (i = 0; i < n && !error; i++)
		error = round_trip(test, &pair, i + 2, *way == 's', bytes);
	oxk_count(pair.first, &after);
	pair_close(&pair);
	if (error)
		goto out;
	snprintf(text, sizeof(text), "wakeups %llu reaps %llu reaps_over %llu frames %llu",
		 after.wakeups - before.wakeups, after.reaps - before.reaps,
		 after.reaps_over - before.reaps_over,
		 after.frames_received - before.frames_received);
	test_say(text);
out:
	kfree(far);
	kfree(bytes);
	return error;
}
