// SPDX-License-Identifier: GPL-2.0
/* held.c: requests that a peer outside of the kernel keeps from ending, and whose caller is killed
 * or gives them up: after OXK_CANCEL_MS the peer is lost. */
#include <linux/nsproxy.h>
#include <linux/sched/signal.h>

#include "oxk_test.h"

enum { BYTES = 64 << 10 };

static int until_lost(struct test *test, struct pair *pair, struct oxk_request *request,
		      bool give_up)
{
	unsigned long begin;
	u32 ms;
	int error = 0;

	if (give_up) {
		/* The peer has it by then, or answers nothing about it. */
		msleep(5000);
		begin = jiffies;
		expect(test, oxk_abandon(request), -ENOENT);
	} else {
		while (!fatal_signal_pending(current))
			schedule_timeout_killable(MAX_SCHEDULE_TIMEOUT);
		begin = jiffies;
		expect(test, oxk_wait(request), -EINTR);
	}
	ms = jiffies_to_msecs(jiffies - begin);
	if (ms + 10 < OXK_CANCEL_MS || ms > 4 * OXK_CANCEL_MS)
		return fail(test, "the peer was lost after %u ms", ms);
	expect(test, oxk_test(request), 0);
	expect(test, request->status.error, -ETIMEDOUT);
	expect(test, oxk_cancel(request), -ENOENT);
	until(atomic_read(&pair->n_lost));
	expect(test, atomic_read(&pair->n_lost), 1);
	expect(test, pair->lost_error, -ETIMEDOUT);
	test_say("the peer was lost");
out:
	return error;
}

int held(struct test *test, u16 port, const u8 *bytes, const char *what)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };
	bool sends = what[0] == 's', give_up = what[1] == 'g';
	struct key *key = test_key(bytes, OXK_KEY_BYTES);
	struct oxk_request receive = {}, send = {};
	struct memory memory = {};
	struct pair pair;
	int error;

	pair_params(&pair);
	pair.params.context = &pair;
	pair.params.net = current->nsproxy->net_ns;
	pair.params.listen = (struct sockaddr *)&address;
	pair.params.listen_bytes = sizeof(address);
	pair.params.key = key;
	error = oxk_open(&pair.params, &pair.first) ?: memory_new(&memory, PAGES, BYTES, 0);
	key_put(key);
	if (error) {
		fail(test, "the endpoint cannot be opened: %d", error);
		goto out;
	}
	expect(test, oxk_irecv(pair.first, 0, OXK_MASK_ANY, &memory.vector, &receive), 0);
	test_say("listens");
	if (!sends) {
		error = until_lost(test, &pair, &receive, give_up);
		goto out;
	}
	/* Its first message says who it is. */
	expect(test, test_wait(&receive), 0);
	expect(test, oxk_issend(pair.first, receive.status.peer, 7, &memory.vector, &send), 0);
	error = until_lost(test, &pair, &send, give_up);
out:
	pair_close(&pair);
	memory_free(&memory);
	return error;
}
