// SPDX-License-Identifier: GPL-2.0
/*
 * flow.c: reads and writes. A write pins the caller's pages and sends them, a piece at a time; it
 * returns when they are free again, which a long piece is when the peer has read it. A read pins
 * the caller's pages and posts them, with the stream's own pages behind them for the rest of a
 * message that is longer than the read: that rest is what the next read gets first, by a copy.
 *
 * A write that must not wait is copied and sent behind its back.
 */
#include <linux/highmem.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "stream.h"

/* How long the end of a stream waits for what a write has left behind. */
#define OXKS_FLUSH_MS 2000

static void oxks_done(struct oxk_request *request)
{
	struct oxks_op *op = container_of(request, struct oxks_op, request);
	struct oxks_stream *stream = op->stream;

	/* Who waits for it looks under the lock, and may let go of it then. */
	spin_lock_bh(&stream->port->lock);
	op->over = true;
	wake_up_all(&stream->wait);
	spin_unlock_bh(&stream->port->lock);
}

struct oxks_op *oxks_op_new(struct oxks_stream *stream)
{
	struct oxks_op *op = kvzalloc(sizeof(*op), GFP_KERNEL_ACCOUNT);

	if (!op)
		return NULL;
	op->stream = stream;
	op->over = true;
	return op;
}

static bool oxks_is_over(struct oxks_op *op)
{
	bool over;

	spin_lock_bh(&op->stream->port->lock);
	over = op->over;
	spin_unlock_bh(&op->stream->port->lock);
	return over;
}

static void oxks_begin(struct oxks_op *op)
{
	op->over = false;
	op->request.done = oxks_done;
}

/* It was not taken, or was taken back. */
static void oxks_unbegin(struct oxks_op *op)
{
	spin_lock_bh(&op->stream->port->lock);
	op->over = true;
	spin_unlock_bh(&op->stream->port->lock);
}

/* Ends it: takes it back, or waits until it is over. Peers do not keep a stream from being closed:
 * one that lets this wait is lost. */
void oxks_op_end(struct oxks_op *op)
{
	if (oxks_is_over(op))
		return;
	if (!oxk_abandon(&op->request)) {
		oxks_unbegin(op);
		return;
	}
	/* It is over, and its callback is about to say so. */
	wait_event(op->stream->wait, oxks_is_over(op));
}

/* Waits for one that is arriving or leaving, however slowly. Who is killed does not wait long. */
static void oxks_op_await(struct oxks_op *op)
{
	if (oxks_is_over(op))
		return;
	oxk_wait(&op->request);
	wait_event(op->stream->wait, oxks_is_over(op));
}

static void oxks_unpin(struct oxks_op *op, bool written)
{
	if (op->n_pins)
		unpin_user_pages_dirty_lock(op->pins, op->n_pins, written);
	op->n_pins = 0;
	op->n_pieces = 0;
}

/* Pins up to a piece of the caller's memory; how many bytes. */
static int oxks_pin(struct oxks_op *op, unsigned long address, size_t bytes, bool written)
{
	u32 at = offset_in_page(address), left = min_t(size_t, bytes, OXKS_PIECE_BYTES), done = 0, n, i;
	int pinned;

	op->n_pieces = 0;
	if (!access_ok((void __user *)address, left))
		return -EFAULT;
	n = DIV_ROUND_UP(at + left, PAGE_SIZE);
	pinned = pin_user_pages_fast(address & PAGE_MASK, n, written ? FOLL_WRITE : 0, op->pins);
	if (pinned <= 0)
		return -EFAULT;
	op->n_pins = pinned;
	atomic64_add(pinned, &op->stream->pages_pinned);
	for (i = 0; i < pinned; i++) {
		n = min_t(u32, left, PAGE_SIZE - at);
		op->pieces[op->n_pieces++] = (struct bio_vec){ .bv_page = op->pins[i], .bv_offset = at,
				.bv_len = n };
		done += n;
		left -= n;
		at = 0;
	}
	return done;
}

static struct oxk_vector oxks_vector(const struct oxks_op *op)
{
	return (struct oxk_vector){ .kind = OXK_PAGES, .n = op->n_pieces, .pages = op->pieces };
}

/* ---- reading ------------------------------------------------------------------------- */

static bool oxks_has_message(struct oxks_stream *stream)
{
	struct oxk_status status;

	return !oxk_probe(stream->port->endpoint, oxks_match(OXKS_DATA, stream->id), OXK_MASK_FULL,
			&status);
}

/* No message will come any more: 1 at the end of the stream, or what went wrong. 0: one may. */
static int oxks_in_end(struct oxks_stream *stream)
{
	int end;

	spin_lock_bh(&stream->port->lock);
	end = stream->fin ? 1 : stream->error;
	spin_unlock_bh(&stream->port->lock);
	return end;
}

/* Gives the caller what is left of the last message. */
static ssize_t oxks_read_rest(struct oxks_stream *stream, char __user *to, size_t bytes)
{
	u32 n = min_t(size_t, bytes, stream->rest_bytes), done = 0, part;

	while (done < n) {
		const u8 *page = page_address(stream->rest[stream->rest_at >> PAGE_SHIFT]);
		u32 at = offset_in_page(stream->rest_at);

		part = min_t(u32, n - done, PAGE_SIZE - at);
		if (copy_to_user(to + done, page + at, part))
			break;
		stream->rest_at += part;
		stream->rest_bytes -= part;
		done += part;
	}
	atomic64_add(done, &stream->bytes_copied);
	return done ? done : -EFAULT;
}

static int oxks_make_pages(struct page **pages)
{
	u32 n;

	for (n = 0; n < OXKS_PIECE_PAGES; n++) {
		if (!pages[n])
			pages[n] = alloc_page(GFP_KERNEL_ACCOUNT);
		if (!pages[n])
			return -ENOMEM;
	}
	return 0;
}

/* Posts the caller's pages and, for what is longer, the stream's own. */
static int oxks_post(struct oxks_stream *stream, u32 mine)
{
	struct oxks_op *op = stream->in;
	u32 left = OXKS_PIECE_BYTES - mine, n, i;
	struct oxk_vector vector;
	int error;

	for (i = 0; left; i++) {
		n = min_t(u32, left, PAGE_SIZE);
		op->pieces[op->n_pieces++] = (struct bio_vec){ .bv_page = stream->rest[i], .bv_len = n };
		left -= n;
	}
	vector = oxks_vector(op);
	oxks_begin(op);
	error = oxk_irecv(stream->port->endpoint, oxks_match(OXKS_DATA, stream->id), OXK_MASK_FULL,
			&vector, &op->request);
	if (error)
		oxks_unbegin(op);
	return error;
}

/* Waits for the message of the read; 0, 1 at the end of the stream, or -errno. */
static int oxks_await_message(struct oxks_stream *stream)
{
	struct oxks_op *op = stream->in;
	int interrupted = 0, end;

	if (!oxks_is_over(op)) {
		interrupted = wait_event_interruptible(stream->wait, oxks_is_over(op) || oxks_in_end(stream));
		atomic64_inc(&stream->wakeups);
	}
	/* What has come before the end, or is coming, is read. */
	if (!oxks_is_over(op) && !oxk_cancel(&op->request)) {
		oxks_unbegin(op);
		end = oxks_in_end(stream);
		return end ? end : interrupted;
	}
	oxks_op_await(op);
	return op->request.status.error;
}

/* The peer sent what no stream sends. */
static int oxks_break(struct oxks_stream *stream)
{
	spin_lock_bh(&stream->port->lock);
	if (!stream->error)
		stream->error = -EPROTO;
	spin_unlock_bh(&stream->port->lock);
	return -EPROTO;
}

static ssize_t oxks_receive(struct oxks_stream *stream, char __user *to, size_t bytes)
{
	struct oxks_op *op = stream->in;
	const struct oxk_status *status = &op->request.status;
	int mine, error;
	u64 got;

	mine = oxks_pin(op, (unsigned long)to, bytes, true);
	if (mine < 0)
		return mine;
	error = oxks_post(stream, mine);
	if (!error)
		error = oxks_await_message(stream);
	got = error ? 0 : min_t(u64, status->bytes, mine);
	oxks_unpin(op, got || error < 0);
	/* The stream's number is known to nobody else, pieces are not longer, and none is empty. */
	if (error == -EMSGSIZE || (!error && (status->peer != stream->peer || !status->bytes)))
		return oxks_break(stream);
	if (error)
		return error < 0 ? error : 0;
	stream->rest_at = 0;
	stream->rest_bytes = status->bytes - got;
	atomic64_inc(&stream->reads);
	atomic64_add(got, &stream->bytes_read);
	return got;
}

ssize_t oxks_read(struct oxks_stream *stream, char __user *to, size_t bytes, bool wait)
{
	ssize_t done;
	int end;

	if (!bytes)
		return 0;
	if (wait ? mutex_lock_interruptible(&stream->reading) : !mutex_trylock(&stream->reading))
		return wait ? -ERESTARTSYS : -EAGAIN;
	if (stream->rest_bytes) {
		done = oxks_read_rest(stream, to, bytes);
	} else if (!oxks_has_message(stream) && (end = oxks_in_end(stream))) {
		done = end > 0 ? 0 : end;
	} else if (!wait && !oxks_has_message(stream)) {
		done = -EAGAIN;
	} else {
		done = oxks_make_pages(stream->rest);
		if (!done)
			done = oxks_receive(stream, to, bytes);
	}
	mutex_unlock(&stream->reading);
	return done;
}

/* ---- writing ------------------------------------------------------------------------- */

static int oxks_out_end(struct oxks_stream *stream)
{
	int end = 0;

	spin_lock_bh(&stream->port->lock);
	if (stream->error)
		end = stream->error;
	else if (stream->gone || stream->shut)
		end = -EPIPE;
	spin_unlock_bh(&stream->port->lock);
	return end;
}

static int oxks_send(struct oxks_stream *stream, struct oxks_op *op)
{
	struct oxk_vector vector = oxks_vector(op);
	int error;

	oxks_begin(op);
	error = oxk_isend(stream->port->endpoint, stream->peer, oxks_match(OXKS_DATA, stream->id),
			&vector, &op->request);
	if (error)
		oxks_unbegin(op);
	return error;
}

/* One piece, from the caller's pages. */
static ssize_t oxks_write_piece(struct oxks_stream *stream, const char __user *from, size_t bytes)
{
	struct oxks_op *op = stream->out;
	int mine = oxks_pin(op, (unsigned long)from, bytes, false), error, interrupted = 0;

	if (mine < 0)
		return mine;
	error = oxks_send(stream, op);
	if (error) {
		oxks_unpin(op, false);
		return error;
	}
	if (!oxks_is_over(op)) {
		interrupted = wait_event_interruptible(stream->wait, oxks_is_over(op) || oxks_out_end(stream));
		atomic64_inc(&stream->wakeups);
	}
	if (!oxks_is_over(op) && !oxk_cancel(&op->request)) {
		oxks_unbegin(op);
		error = oxks_out_end(stream);
		if (!error)
			error = interrupted;
	} else {
		oxks_op_await(op);
		error = op->request.status.error;
		if (error == -ECANCELED)
			error = interrupted ? interrupted : -EPIPE;
	}
	oxks_unpin(op, false);
	if (error)
		return error;
	atomic64_inc(&stream->writes);
	atomic64_add(mine, &stream->bytes_written);
	return mine;
}

/* A copy that leaves by itself. */
static ssize_t oxks_write_behind(struct oxks_stream *stream, const char __user *from, size_t bytes)
{
	u32 left = min_t(size_t, bytes, OXKS_PIECE_BYTES), done = 0, n;
	struct oxks_op *op = stream->behind;
	int error;

	if (!oxks_is_over(op))
		return -EAGAIN;
	error = oxks_make_pages(stream->copies);
	if (error)
		return error;
	for (op->n_pieces = 0; done < left; done += n) {
		struct page *page = stream->copies[op->n_pieces];

		n = min_t(u32, left - done, PAGE_SIZE);
		if (copy_from_user(page_address(page), from + done, n))
			return -EFAULT;
		op->pieces[op->n_pieces++] = (struct bio_vec){ .bv_page = page, .bv_len = n };
	}
	error = oxks_send(stream, op);
	if (error)
		return error;
	atomic64_add(left, &stream->bytes_copied);
	return left;
}

ssize_t oxks_write(struct oxks_stream *stream, const char __user *from, size_t bytes, bool wait)
{
	size_t done = 0;
	ssize_t n = 0;

	if (!bytes)
		return 0;
	if (wait ? mutex_lock_interruptible(&stream->writing) : !mutex_trylock(&stream->writing))
		return wait ? -ERESTARTSYS : -EAGAIN;
	while (done < bytes) {
		n = oxks_out_end(stream);
		if (!n)
			n = wait ? oxks_write_piece(stream, from + done, bytes - done) :
				   oxks_write_behind(stream, from + done, bytes - done);
		if (n <= 0)
			break;
		done += n;
	}
	mutex_unlock(&stream->writing);
	if (!done && n == -EPIPE)
		send_sig(SIGPIPE, current, 0);
	return done ? done : n;
}

/* What a write has left behind leaves, unless the peer takes too long. */
void oxks_flush(struct oxks_stream *stream)
{
	if (!oxks_is_over(stream->behind))
		wait_event_timeout(stream->wait, oxks_is_over(stream->behind) || oxks_out_end(stream) == -EPIPE,
				   msecs_to_jiffies(OXKS_FLUSH_MS));
	oxks_op_end(stream->behind);
}

/* Nothing more is written: the peer reads what was, then the end. */
int oxks_shutdown(struct oxks_stream *stream)
{
	int error = 0;

	mutex_lock(&stream->writing);
	if (!stream->shut) {
		error = oxks_say(stream->port, stream->peer, stream->id, OXKS_FIN);
		spin_lock_bh(&stream->port->lock);
		stream->shut = true;
		spin_unlock_bh(&stream->port->lock);
	}
	mutex_unlock(&stream->writing);
	return error;
}

__poll_t oxks_state(struct oxks_stream *stream)
{
	__poll_t state = 0;
	int in = oxks_in_end(stream), out = oxks_out_end(stream);

	if (READ_ONCE(stream->rest_bytes) || in || oxks_has_message(stream))
		state |= EPOLLIN | EPOLLRDNORM;
	if (out || oxks_is_over(stream->behind))
		state |= EPOLLOUT | EPOLLWRNORM;
	if (in < 0 || out < 0)
		state |= in < 0 ? EPOLLERR | EPOLLHUP : EPOLLHUP;
	if (in)
		state |= EPOLLRDHUP;
	return state;
}

/* Messages that nobody reads any more are thrown away. */
void oxks_discard(struct oxks_stream *stream)
{
	struct oxks_op *op = stream->in;
	struct oxk_vector nothing = { .kind = OXK_PAGES, .pages = op->pieces };

	while (oxks_has_message(stream)) {
		oxks_begin(op);
		if (oxk_irecv(stream->port->endpoint, oxks_match(OXKS_DATA, stream->id), OXK_MASK_FULL,
				&nothing, &op->request)) {
			oxks_unbegin(op);
			return;
		}
		oxks_op_end(op);
	}
}
