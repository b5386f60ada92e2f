// SPDX-License-Identifier: GPL-2.0
/* echo.c: an endpoint that sends every message back, for peers outside of the kernel. */
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>

#include "oxk_test.h"

enum { N = 4, BYTES = 1 << 20 };

static DEFINE_MUTEX(lock);

struct turn {
	struct oxk_request receive, send;
	struct kvec entry;
	void *bytes;
};

static struct {
	struct oxk_endpoint *endpoint;
	struct turn turns[N];
	atomic_t n_lost;
} echo;

static void post(struct turn *turn)
{
	struct oxk_vector vector = { .kind = OXK_KERNEL, .n = 1, .kernel = &turn->entry };

	turn->entry = (struct kvec) { .iov_base = turn->bytes, .iov_len = BYTES };
	oxk_irecv(echo.endpoint, 0, OXK_MASK_ANY, &vector, &turn->receive);
}

static void sent(struct oxk_request *request)
{
	/* A close ends the sends, too. */
	if (request->status.error != -ESHUTDOWN)
		post(request->context);
}

static void received(struct oxk_request *request)
{
	struct turn *turn = request->context;
	struct oxk_vector vector = { .kind = OXK_KERNEL, .n = 1, .kernel = &turn->entry };

	if (request->status.error == -ECANCELED || request->status.error == -ESHUTDOWN)
		return;
	turn->entry.iov_len = request->status.placed;
	if (request->status.error || oxk_isend(echo.endpoint, request->status.peer,
					       request->status.match + 1, &vector, &turn->send))
		post(turn);
}

static void lost(struct oxk_endpoint *endpoint, oxk_peer_t peer, int error, void *context)
{
	atomic_inc(&echo.n_lost);
}

void echo_close(void)
{
	struct oxk_counts counts;
	u32 i;

	mutex_lock(&lock);
	if (echo.endpoint) {
		oxk_count(echo.endpoint, &counts);
		pr_info("oxk_test: echo: %llu messages, %llu strangers, %d peers lost\n",
			counts.messages_received, counts.strangers, atomic_read(&echo.n_lost));
		oxk_close(echo.endpoint);
	}
	echo.endpoint = NULL;
	for (i = 0; i < N; i++) {
		kvfree(echo.turns[i].bytes);
		echo.turns[i].bytes = NULL;
	}
	mutex_unlock(&lock);
}

int echo_open(struct test *test, u16 port, const u8 *bytes)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct oxk_params params = {
		.net = current->nsproxy->net_ns,
		.listen = (struct sockaddr *)&address,
		.listen_bytes = sizeof(address),
		.requests = 2 * N,
		.peers = 2,
		.eager_bytes = 8 << 10,
		.unexpected_bytes = 64 << 10,
		.pieces = 4096,
		.peer_lost = lost,
	};
	struct key *key = test_key(bytes, OXK_KEY_BYTES);
	int error;
	u32 i;

	echo_close();
	mutex_lock(&lock);
	params.key = key;
	atomic_set(&echo.n_lost, 0);
	error = oxk_open(&params, &echo.endpoint);
	key_put(key);
	for (i = 0; i < N && !error; i++) {
		struct turn *turn = &echo.turns[i];

		turn->bytes = kvmalloc(BYTES, GFP_KERNEL);
		turn->receive = (struct oxk_request) { .done = received, .context = turn };
		turn->send = (struct oxk_request) { .done = sent, .context = turn };
		if (turn->bytes)
			post(turn);
	}
	mutex_unlock(&lock);
	return error ? fail(test, "the echo cannot be opened: %d", error) : 0;
}
