// SPDX-License-Identifier: GPL-2.0
/* errors.c: what docs/oxk.md says about wrong arguments and reached bounds. */
#include "oxk_test.h"

static int open_with(struct test *test, struct key *key, void (*change)(struct oxk_params *params))
{
	struct oxk_endpoint *endpoint;
	struct oxk_params params;
	struct pair pair;
	int error;

	pair_params(&pair);
	params = pair.params;
	params.net = test->near;
	params.key = key;
	params.peer_lost = NULL;
	change(&params);
	error = oxk_open(&params, &endpoint);
	if (!error)
		oxk_close(endpoint);
	return error;
}

static void as_is(struct oxk_params *params)
{
}

static void no_requests(struct oxk_params *params)
{
	params->requests = 0;
}

static void many_requests(struct oxk_params *params)
{
	params->requests = OXK_REQUESTS_MAX + 1;
}

static void no_peers(struct oxk_params *params)
{
	params->peers = 0;
}

static void little_window(struct oxk_params *params)
{
	params->unexpected_bytes = OXK_WINDOW_BYTES_MIN * params->peers - 1;
}

static void long_eager(struct oxk_params *params)
{
	params->eager_bytes = OXK_EAGER_BYTES_MAX + 1;
}

static void many_pieces(struct oxk_params *params)
{
	params->pieces = OXK_PIECES_MAX + 1;
}

static void no_key(struct oxk_params *params)
{
	params->key = NULL;
}

static struct sockaddr_in elsewhere = { .sin_family = AF_INET };

static void strange_address(struct oxk_params *params)
{
	elsewhere.sin_addr.s_addr = htonl(0x01020304);
	elsewhere.sin_port = htons(19999);
	params->listen = (struct sockaddr *)&elsewhere;
	params->listen_bytes = sizeof(elsewhere);
}

static int opening(struct test *test)
{
	u8 bytes[OXK_KEY_BYTES + 1] = { 9 };
	struct key *key = test_key(bytes, OXK_KEY_BYTES),
		   *longer = test_key(bytes, OXK_KEY_BYTES + 1);
	int error = 0;

	expect(test, open_with(test, key, as_is), 0);
	expect(test, open_with(test, key, no_requests), -EINVAL);
	expect(test, open_with(test, key, many_requests), -EINVAL);
	expect(test, open_with(test, key, no_peers), -EINVAL);
	expect(test, open_with(test, key, little_window), -EINVAL);
	expect(test, open_with(test, key, long_eager), -EINVAL);
	expect(test, open_with(test, key, many_pieces), -EINVAL);
	expect(test, open_with(test, key, no_key), -EKEYREJECTED);
	expect(test, open_with(test, longer, as_is), -EKEYREJECTED);
	expect(test, open_with(test, key, strange_address), -EADDRNOTAVAIL);
	key_revoke(longer);
	expect(test, open_with(test, longer, as_is), -EKEYREJECTED);
out:
	key_put(key);
	key_put(longer);
	return error;
}

static int calls(struct test *test)
{
	struct oxk_request *requests = kvcalloc(70, sizeof(*requests), GFP_KERNEL);
	u8 *bytes = kzalloc(64, GFP_KERNEL);
	struct kvec entry = { .iov_base = bytes, .iov_len = 64 },
		    none = { .iov_base = (void *)8, .iov_len = 64 };
	struct oxk_vector vector = { .kind = OXK_KERNEL, .n = 1, .kernel = &entry };
	struct oxk_vector wrong = vector, nowhere = vector,
			  user = { .kind = OXK_USER, .n = 1, .user = (void __user *)8 };
	struct memory scattered = {};
	oxk_peer_t peer;
	struct pair pair;
	int error, i;

	pair_params(&pair);
	pair.params.pieces = 16;
	error = pair_open(test, &pair);
	if (error || !requests || !bytes)
		goto out;
	expect(test, oxk_isend(pair.first, OXK_NO_PEER, 1, &vector, requests), -ENOTCONN);
	expect(test, oxk_isend(pair.first, pair.peer + (1ull << 32), 1, &vector, requests),
	       -ENOTCONN);
	wrong.kind = 7;
	expect(test, oxk_isend(pair.first, pair.peer, 1, &wrong, requests), -EINVAL);
	wrong.kind = OXK_KERNEL;
	wrong.flags = 2;
	expect(test, oxk_irecv(pair.first, 1, 0, &wrong, requests), -EINVAL);
	nowhere.kernel = &none;
	expect(test, oxk_isend(pair.first, pair.peer, 1, &nowhere, requests), -EFAULT);
	expect(test, oxk_isend(pair.first, pair.peer, 1, &user, requests), -EFAULT);
	expect(test, oxk_connect(pair.first, (struct sockaddr *)&pair.address, 3, &peer), -EINVAL);
	/* Every page of vmalloc is a piece of its own, or nearly. */
	for (i = 0; i < 64; i++)
		expect(test, oxk_irecv(pair.first, 1, OXK_MASK_FULL, &vector, &requests[i]), 0);
	expect(test, oxk_irecv(pair.first, 1, OXK_MASK_FULL, &vector, &requests[64]), -EAGAIN);
	for (i = 0; i < 64; i++)
		expect(test, oxk_cancel(&requests[i]), 0);
	/* The pair is one peer of four. */
	for (i = 0; i < 3; i++)
		expect(test,
		       oxk_connect(pair.first, (struct sockaddr *)&pair.address,
				   sizeof(pair.address), &peer),
		       0);
	expect(test,
	       oxk_connect(pair.first, (struct sockaddr *)&pair.address, sizeof(pair.address),
			   &peer),
	       -EAGAIN);
out:
	pair_close(&pair);
	memory_free(&scattered);
	kvfree(requests);
	kfree(bytes);
	return error;
}

/* A receive that is too short, and connections that cannot be. */
static int outcomes(struct test *test)
{
	struct memory source = {}, target = {};
	struct oxk_request send = {}, receive = {};
	struct sockaddr_in closed;
	oxk_peer_t peer;
	struct pair pair;
	int error, i;

	pair_params(&pair);
	error = pair_open(test, &pair) ?: memory_new(&source, PAGES, 50000, 0);
	if (!error)
		error = memory_new(&target, PAGES, 20000, 3);
	if (error)
		goto out;
	memory_fill(&source, 3);
	for (i = 0; i < 2; i++) {
		source.vector.n = i ? 13 : 3; /* eager, or offered */
		expect(test, oxk_irecv(pair.second, 1, OXK_MASK_FULL, &target.vector, &receive), 0);
		expect(test, oxk_isend(pair.first, pair.peer, 1, &source.vector, &send), 0);
		expect(test, test_wait(&send), 0);
		expect(test, test_wait(&receive), i ? -EMSGSIZE : 0);
		expect(test, receive.status.placed, i ? 20000 : 3 * 4096);
		expect(test, memory_differs(&target, 3, receive.status.placed),
		       receive.status.placed);
	}
	closed = pair.address;
	closed.sin_port = htons(1);
	expect(test, oxk_connect(pair.first, (struct sockaddr *)&closed, sizeof(closed), &peer), 0);
	error = oxk_isend(pair.first, peer, 1, &source.vector, &send) ?: test_wait(&send);
	if (error != -ENOTCONN)
		expect(test, error, -ECONNREFUSED);
	error = 0;
	until(atomic_read(&pair.n_lost));
	expect(test, atomic_read(&pair.n_lost), 1);
	expect(test, pair.lost_error, -ECONNREFUSED);
	expect(test, oxk_isend(pair.first, peer, 1, &source.vector, &send), -ENOTCONN);
out:
	pair_close(&pair);
	memory_free(&source);
	memory_free(&target);
	return error;
}

/* Somebody with another key. */
static int other_key(struct test *test)
{
	u8 bytes[OXK_KEY_BYTES] = { 66 };
	struct key *key = test_key(bytes, sizeof(bytes));
	struct oxk_endpoint *stranger = NULL;
	struct oxk_counts counts;
	struct oxk_params params;
	struct pair pair, lost;
	oxk_peer_t peer;
	int error;

	pair_params(&pair);
	pair_params(&lost);
	error = pair_open(test, &pair);
	if (error)
		goto out;
	params = pair.params;
	params.context = &lost;
	params.net = test->near;
	params.key = key;
	expect(test, oxk_open(&params, &stranger), 0);
	expect(test,
	       oxk_connect(stranger, (struct sockaddr *)&pair.address, sizeof(pair.address), &peer),
	       0);
	until(atomic_read(&lost.n_lost));
	expect(test, lost.lost_error, -EKEYREJECTED);
	until((oxk_count(pair.second, &counts), counts.strangers));
	expect(test, counts.strangers, 1);
	expect(test, atomic_read(&pair.n_lost), 0);
out:
	if (stranger)
		oxk_close(stranger);
	pair_close(&pair);
	key_put(key);
	return error;
}

const struct test_case test_errors[] = {
	{ "opening", opening },
	{ "calls", calls },
	{ "outcomes", outcomes },
	{ "other_key", other_key },
	{},
};
