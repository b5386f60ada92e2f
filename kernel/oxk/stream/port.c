// SPDX-License-Identifier: GPL-2.0
/*
 * port.c: endpoints, and how streams begin and end on them.
 */
#include <linux/key.h>
#include <linux/nsproxy.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "stream.h"

/* A message up to this length leaves without asking. */
#define OXKS_EAGER_BYTES (8u << 10)
/* What waits here of a peer before it is read. */
#define OXKS_WINDOW_BYTES (32u << 10)
/* Messages of a stream under way: a read, a write, one that was left behind, words. */
#define OXKS_REQUESTS 12u
#define OXKS_PIECES (3u * (2 * OXKS_PIECE_PAGES + 1))
/* Of all listeners and users together. */
#define OXKS_STREAMS_ALL_MAX 1024
/* Who says hello again and again without taking the answers is not answered while so many of his
 * wait. With the ends of 64 streams that are 7 requests for each: less than there are beside those
 * for bytes, so that other peers' streams always find one. */
#define OXKS_WORDS_MAX 4
/* Places that one peer may have among those that said hello. */
#define OXKS_CALLS_MAX 4
#define OXKS_CONNECT_MS 10000
/* How long the end of a stream waits for its last words to leave. */
#define OXKS_WORDS_MS 2000

/* ---- words: messages without bytes --------------------------------------------------- */

struct oxks_word {
	struct oxk_request request;
	struct oxks_port *port;
	oxk_peer_t peer;
};

/* Those of a peer that have not left. The port is locked. */
static u8 *oxks_words_of(struct oxks_port *port, oxk_peer_t peer)
{
	/* The lower half of a peer's name is its place, of which there are as many. */
	return &port->words[(u32)peer % OXKS_STREAMS_MAX];
}

static void oxks_said(struct oxk_request *request)
{
	struct oxks_word *word = container_of(request, struct oxks_word, request);
	struct oxks_port *port = word->port;

	spin_lock_bh(&port->lock);
	port->n_words--;
	--*oxks_words_of(port, word->peer);
	wake_up_all(&port->wait);
	spin_unlock_bh(&port->lock);
	kfree(word);
}

/* It leaves by itself, behind what was sent before it. */
int oxks_say(struct oxks_port *port, oxk_peer_t peer, u64 id, enum oxks_kind kind)
{
	struct oxk_vector nothing = { .kind = OXK_PAGES };
	struct oxks_word *word = kzalloc(sizeof(*word), GFP_KERNEL | __GFP_NOFAIL);
	int error;

	word->port = port;
	word->peer = peer;
	word->request.done = oxks_said;
	spin_lock_bh(&port->lock);
	port->n_words++;
	++*oxks_words_of(port, peer);
	spin_unlock_bh(&port->lock);
	error = oxk_isend(port->endpoint, peer, oxks_match(kind, id), &nothing, &word->request);
	if (error)
		oxks_said(&word->request);
	return error;
}

static bool oxks_has_said_all(struct oxks_port *port)
{
	bool all;

	spin_lock_bh(&port->lock);
	all = !port->n_words;
	spin_unlock_bh(&port->lock);
	return all;
}

/* ---- what arrives -------------------------------------------------------------------- */

/* The port is locked. */
static struct oxks_stream *oxks_find(struct oxks_port *port, oxk_peer_t peer, u64 id)
{
	struct oxks_stream *stream;

	list_for_each_entry(stream, &port->streams, list)
		if (stream->id == id && stream->peer == peer)
			return stream;
	return NULL;
}

/* The port is locked. Somebody wants to begin a stream. */
static void oxks_called(struct oxks_port *port, oxk_peer_t peer, u64 id)
{
	u32 i, n = 0;

	if (!port->listens || port->closed || port->n_callers == OXKS_BACKLOG_MAX)
		return;
	for (i = 0; i < port->n_callers; i++)
		n += port->callers[i].peer == peer;
	if (n >= OXKS_CALLS_MAX)
		return;
	port->callers[port->n_callers].peer = peer;
	port->callers[port->n_callers++].id = id;
	refcount_inc(&port->references);
	/* While nobody has closed it the listener has a reference, too. */
	if (!queue_work(oxks_queue, &port->answer))
		refcount_dec(&port->references);
}

static enum oxk_verdict oxks_unexpected(const struct oxk_arrival *arrival,
		struct oxk_request **request, struct oxk_vector *into,
					void *context)
{
	enum oxk_verdict verdict = OXK_FINISHED;
	u64 id = arrival->match & OXKS_ID_MASK;
	struct oxks_port *port = context;
	struct oxks_stream *stream;

	spin_lock_bh(&port->lock);
	stream = oxks_find(port, arrival->peer, id);
	switch (arrival->match >> 48) {
	case OXKS_HELLO:
		if (!stream)
			oxks_called(port, arrival->peer, id);
		break;
	case OXKS_WELCOME:
		if (stream)
			stream->welcome = true;
		break;
	case OXKS_REFUSED:
		if (stream && !stream->welcome)
			stream->error = -ECONNREFUSED;
		break;
	case OXKS_DATA:
		if (!stream)
			break;
		/* One that fits no read, or comes behind the end, is nobody's. */
		if (!arrival->bytes || arrival->bytes > OXKS_PIECE_BYTES || stream->fin)
			stream->error = -EPROTO;
		else
			verdict = OXK_CONTINUE;
		break;
	case OXKS_FIN:
		if (stream)
			stream->fin = true;
		break;
	case OXKS_GONE:
		if (stream)
			stream->gone = true;
		break;
	}
	if (stream)
		wake_up_all(&stream->wait);
	spin_unlock_bh(&port->lock);
	return verdict;
}

static void oxks_peer_lost(struct oxk_endpoint *endpoint, oxk_peer_t peer, int error, void *context)
{
	struct oxks_port *port = context;
	struct oxks_stream *stream;

	spin_lock_bh(&port->lock);
	list_for_each_entry(stream, &port->streams, list) {
		if (stream->peer != peer)
			continue;
		if (!stream->error)
			stream->error = error ? -abs(error) : -ECONNRESET;
		wake_up_all(&stream->wait);
	}
	spin_unlock_bh(&port->lock);
}

/* ---- ports --------------------------------------------------------------------------- */

static void oxks_answer(struct work_struct *work);

static void oxks_port_put(struct oxks_port *port)
{
	if (!refcount_dec_and_test(&port->references))
		return;
	oxk_close(port->endpoint);
	oxks_user_put(port);
	kfree(port);
	atomic64_dec(&oxks_ports_all);
}

/* `streams`: how many it may have. */
static int oxks_port_new(const struct oxks_address *address, u32 streams, struct oxks_port **made)
{
	struct oxks_port *port;
	key_ref_t key;
	int error;

	if (address->bytes > OXKS_ADDRESS_BYTES)
		return -EINVAL;
	key = lookup_user_key(address->key, 0, KEY_NEED_SEARCH);
	if (IS_ERR(key))
		return PTR_ERR(key);
	port = kzalloc(sizeof(*port), GFP_KERNEL_ACCOUNT);
	if (!port) {
		key_ref_put(key);
		return -ENOMEM;
	}
	refcount_set(&port->references, 1);
	spin_lock_init(&port->lock);
	INIT_LIST_HEAD(&port->streams);
	INIT_LIST_HEAD(&port->ready);
	init_waitqueue_head(&port->wait);
	INIT_WORK(&port->answer, oxks_answer);
	port->listens = streams > 1;
	port->backlog = address->backlog;
	error = oxks_user_get(port);
	if (error) {
		key_ref_put(key);
		kfree(port);
		return error;
	}
	error = oxk_open(&(struct oxk_params){
				 .net = current->nsproxy->net_ns,
				 .listen = port->listens ? (const struct sockaddr *)address->address : NULL,
				 .listen_bytes = port->listens ? address->bytes : 0,
				 .key = key_ref_to_ptr(key),
				 .requests = OXKS_REQUESTS * streams,
				 .peers = streams,
				 .eager_bytes = OXKS_EAGER_BYTES,
				 .unexpected_bytes = (u64)OXKS_WINDOW_BYTES * streams,
				 .pieces = OXKS_PIECES * streams,
				 .unexpected = oxks_unexpected,
				 .peer_lost = oxks_peer_lost,
				 .context = port,
			 },
			 &port->endpoint);
	key_ref_put(key);
	if (error) {
		oxks_user_put(port);
		kfree(port);
		return error;
	}
	atomic64_inc(&oxks_ports_all);
	*made = port;
	return 0;
}

/* ---- streams ------------------------------------------------------------------------- */

static void oxks_stream_free(struct oxks_stream *stream)
{
	u32 n;

	for (n = 0; n < OXKS_PIECE_PAGES; n++) {
		if (stream->rest[n])
			__free_page(stream->rest[n]);
		if (stream->copies[n])
			__free_page(stream->copies[n]);
	}
	kvfree(stream->in);
	kvfree(stream->out);
	kvfree(stream->behind);
	oxks_user_remove_stream(stream->port);
	kvfree(stream);
	atomic64_dec(&oxks_streams_all);
}

/* On its port's list, with a reference to the port. */
static int oxks_stream_new(struct oxks_port *port, oxk_peer_t peer, u64 id,
		struct oxks_stream **made)
{
	struct oxks_stream *stream;
	int error;

	if (atomic64_inc_return(&oxks_streams_all) > OXKS_STREAMS_ALL_MAX) {
		atomic64_dec(&oxks_streams_all);
		return -ENFILE;
	}
	error = oxks_user_add_stream(port);
	if (error) {
		atomic64_dec(&oxks_streams_all);
		return error;
	}
	stream = kvzalloc(sizeof(*stream), GFP_KERNEL_ACCOUNT);
	if (!stream) {
		oxks_user_remove_stream(port);
		atomic64_dec(&oxks_streams_all);
		return -ENOMEM;
	}
	stream->port = port;
	stream->peer = peer;
	stream->id = id;
	INIT_LIST_HEAD(&stream->ready);
	init_waitqueue_head(&stream->wait);
	mutex_init(&stream->reading);
	mutex_init(&stream->writing);
	stream->in = oxks_op_new(stream);
	stream->out = oxks_op_new(stream);
	stream->behind = oxks_op_new(stream);
	if (!stream->in || !stream->out || !stream->behind)
		error = -ENOMEM;
	spin_lock_bh(&port->lock);
	if (!error && (port->closed || port->n_streams == OXKS_STREAMS_MAX))
		error = -EAGAIN;
	if (!error) {
		refcount_inc(&port->references);
		port->n_streams++;
		list_add(&stream->list, &port->streams);
	}
	spin_unlock_bh(&port->lock);
	if (error) {
		oxks_stream_free(stream);
		return error;
	}
	*made = stream;
	return 0;
}

/* Nobody uses the stream any more. */
void oxks_stream_close(struct oxks_stream *stream)
{
	struct oxks_port *port = stream->port;

	oxks_flush(stream);
	oxks_shutdown(stream);
	oxks_say(port, stream->peer, stream->id, OXKS_GONE);
	oxks_op_end(stream->out);
	oxks_op_end(stream->in);
	/* No message of it is kept from here on. */
	spin_lock_bh(&port->lock);
	list_del(&stream->list);
	port->n_streams--;
	spin_unlock_bh(&port->lock);
	oxks_discard(stream);
	if (!port->listens)
		wait_event_timeout(port->wait, oxks_has_said_all(port), msecs_to_jiffies(OXKS_WORDS_MS));
	oxks_stream_free(stream);
	oxks_port_put(port);
}

/* Answers those that said hello. */
static void oxks_answer(struct work_struct *work)
{
	struct oxks_port *port = container_of(work, struct oxks_port, answer);
	struct oxks_stream *stream;
	oxk_peer_t peer;
	bool any, room, heard = false;
	u64 id;

	for (;;) {
		spin_lock_bh(&port->lock);
		any = port->n_callers > 0;
		if (any) {
			port->n_callers--;
			peer = port->callers[port->n_callers].peer;
			id = port->callers[port->n_callers].id;
			heard = *oxks_words_of(port, peer) < OXKS_WORDS_MAX;
		}
		room = !port->closed && port->n_ready < port->backlog;
		spin_unlock_bh(&port->lock);
		if (!any)
			break;
		if (!heard)
			continue;
		if (!room || oxks_stream_new(port, peer, id, &stream)) {
			oxks_say(port, peer, id, OXKS_REFUSED);
			continue;
		}
		stream->welcome = true;
		if (oxks_say(port, peer, id, OXKS_WELCOME)) {
			oxks_stream_close(stream);
			continue;
		}
		spin_lock_bh(&port->lock);
		room = !port->closed;
		if (room) {
			list_add_tail(&stream->ready, &port->ready);
			port->n_ready++;
			wake_up_all(&port->wait);
		}
		spin_unlock_bh(&port->lock);
		if (!room)
			oxks_stream_close(stream);
	}
	oxks_port_put(port);
}

/* ---- requests ------------------------------------------------------------------------ */

int oxks_listen(const struct oxks_address *address, struct oxks_port **port)
{
	if (!address->backlog || address->backlog > OXKS_BACKLOG_MAX)
		return -EINVAL;
	return oxks_port_new(address, OXKS_STREAMS_MAX, port);
}

static bool oxks_is_answered(struct oxks_stream *stream)
{
	bool answered;

	spin_lock_bh(&stream->port->lock);
	answered = stream->welcome || stream->error;
	spin_unlock_bh(&stream->port->lock);
	return answered;
}

int oxks_connect(const struct oxks_address *address, struct oxks_stream **made)
{
	struct oxks_stream *stream;
	struct oxks_port *port;
	oxk_peer_t peer;
	long waited;
	int error;

	if (address->backlog)
		return -EINVAL;
	error = oxks_port_new(address, 1, &port);
	if (error)
		return error;
	error = oxk_connect(port->endpoint, (const struct sockaddr *)address->address, address->bytes,
			&peer);
	if (!error)
		error = oxks_stream_new(port, peer, get_random_u64() & OXKS_ID_MASK, &stream);
	if (error) {
		oxks_port_put(port);
		return error;
	}
	error = oxks_say(port, peer, stream->id, OXKS_HELLO);
	if (!error) {
		waited = wait_event_interruptible_timeout(stream->wait, oxks_is_answered(stream),
				msecs_to_jiffies(OXKS_CONNECT_MS));
		error = waited < 0 ? waited : waited ? stream->error : -ETIMEDOUT;
	}
	/* The stream has its own reference. */
	oxks_port_put(port);
	if (error) {
		oxks_stream_close(stream);
		return error;
	}
	*made = stream;
	return 0;
}

bool oxks_has_ready(struct oxks_port *port)
{
	bool any;

	spin_lock_bh(&port->lock);
	any = port->n_ready;
	spin_unlock_bh(&port->lock);
	return any;
}

int oxks_accept(struct oxks_port *port, bool wait, struct oxks_stream **stream)
{
	for (;;) {
		spin_lock_bh(&port->lock);
		*stream = list_first_entry_or_null(&port->ready, struct oxks_stream, ready);
		if (*stream) {
			list_del_init(&(*stream)->ready);
			port->n_ready--;
		}
		spin_unlock_bh(&port->lock);
		if (*stream)
			return 0;
		if (!wait)
			return -EAGAIN;
		if (wait_event_interruptible(port->wait, oxks_has_ready(port)))
			return -ERESTARTSYS;
	}
}

/* Nobody accepts any more. Streams that were accepted go on. */
void oxks_port_close(struct oxks_port *port)
{
	struct oxks_stream *stream;

	spin_lock_bh(&port->lock);
	port->closed = true;
	spin_unlock_bh(&port->lock);
	while (!oxks_accept(port, false, &stream))
		oxks_stream_close(stream);
	oxks_port_put(port);
}
