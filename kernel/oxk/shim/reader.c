// SPDX-License-Identifier: GPL-2.0
/*
 * reader.c: what a socket has is given to the core as it lies in the packets, and payload is copied
 * once, from there to where the core says. TCP's own handler does it, in softirq; what is too much
 * for that a work item reads. The socket is locked in both, so its bytes are read in their order.
 *
 * Copies are made without the endpoint's lock: the core keeps a request until it has been told.
 */
#include <net/tcp.h>

#include "oxk_shim.h"

struct oxk_run {
	struct ox_reader reader;
	struct oxk_link *link;
	u32 bytes_max;
	u32 bytes; /* read, payload or not */
	u32 what;  /* why it ended: OXK_STEP_* or OXK_RUN_LONG */
};

/* Enough for one run; another follows in a work item. */
#define OXK_RUN_LONG 100

static u32 oxk_feed(struct ox_reader *reader, const u8 *data, u32 bytes)
{
	struct oxk_run *run = container_of(reader, struct oxk_run, reader);
	struct oxk_link *link = run->link;
	struct oxk_endpoint *endpoint = link->endpoint;
	struct oxk_request *request;
	struct oxk_core_step step;
	u32 used = 0;

	spin_lock_bh(&endpoint->lock);
	for (;;) {
		oxk_core_feed(endpoint->core, link->peer, data + used, bytes - used, &step);
		used += step.consumed;
		run->bytes += step.consumed;
		if (step.what == OXK_STEP_UNEXPECTED) {
			if (oxk_judge(link, &step, data + used, bytes - used))
				step.what = OXK_STEP_BROKEN;
			else
				continue;
		}
		if (step.what != OXK_STEP_PLACE)
			break;
		request = *oxk_slot(endpoint, step.token);
		spin_unlock_bh(&endpoint->lock);
		oxk_area_write(oxk_request_area(request), step.offset, data + used, step.bytes);
		oxk_add(endpoint, bytes_placed, step.bytes);
		used += step.bytes;
		run->bytes += step.bytes;
		spin_lock_bh(&endpoint->lock);
		oxk_core_placed(endpoint->core, link->peer, 0);
		spin_unlock_bh(&endpoint->lock);
		/* Who awaits it may post what the next message is for. */
		oxk_settle(endpoint);
		if (run->bytes >= run->bytes_max) {
			run->what = OXK_RUN_LONG;
			reader->stopped = true;
			return used;
		}
		spin_lock_bh(&endpoint->lock);
	}
	if (step.what == OXK_STEP_STOP) {
		link->stopped = true;
		queue_work(endpoint->queue, &link->send);
	}
	spin_unlock_bh(&endpoint->lock);
	run->what = step.what;
	/* A peer that writes heads without payload is not read for longer than others are. */
	if (step.what == OXK_STEP_DONE && run->bytes >= run->bytes_max)
		run->what = OXK_RUN_LONG;
	reader->stopped = run->what != OXK_STEP_DONE;
	return used;
}

/* One run; what it ended with. The socket is locked. */
static u32 oxk_read(struct oxk_link *link, u32 bytes_max)
{
	struct oxk_run run = { .reader = { .feed = oxk_feed },
			       .link = link,
			       .bytes_max = bytes_max,
			       .what = OXK_STEP_DONE };
	struct oxk_endpoint *endpoint = link->endpoint;
	struct sock *sk = link->socket->sk;

	if (endpoint->port) {
		/* Frames carry everything; here the peer only ends. */
		if (ox_socket_has_ended(sk))
			oxk_lose(link, sk->sk_err ? -sk->sk_err : -ECONNRESET);
		else if (!skb_queue_empty(&sk->sk_receive_queue))
			oxk_lose(link, -EPROTO);
		return OXK_STEP_DONE;
	}
	ox_read_socket(sk, &run.reader);
	oxk_settle(endpoint);
	switch (run.what) {
	case OXK_STEP_DONE:
		if (ox_socket_has_ended(sk))
			oxk_lose(link, sk->sk_err ? -sk->sk_err : -ECONNRESET);
		break;
	case OXK_STEP_LEFT:
		oxk_lose(link, -ECONNRESET);
		break;
	case OXK_STEP_BROKEN:
		oxk_lose(link, -EPROTO);
		break;
	}
	spin_lock_bh(&endpoint->lock);
	oxk_kick(link);
	spin_unlock_bh(&endpoint->lock);
	return run.what;
}

void oxk_read_work(struct work_struct *work)
{
	struct oxk_link *link = container_of(work, struct oxk_link, read);
	struct sock *sk = link->socket->sk;
	bool again;

	do {
		lock_sock(sk);
		again = false;
		if (link->hooked) {
			oxk_add(link->endpoint, thread_runs, 1);
			again = oxk_read(link, OXK_THREAD_BYTES_MAX) == OXK_RUN_LONG;
			/* From here on the handlers read again, beginning with what came meanwhile.
			 */
			link->in_thread = again;
		}
		release_sock(sk);
		cond_resched();
	} while (again);
}

/* Has the work item read. The endpoint is locked, the socket may be. */
void oxk_read_again(struct oxk_link *link)
{
	if (!link->lost)
		queue_work(link->endpoint->queue, &link->read);
}

static void oxk_read_in_softirq(struct oxk_link *link)
{
	struct oxk_endpoint *endpoint = link->endpoint;

	/* The work item will see what has come. */
	if (link->in_thread || READ_ONCE(link->lost))
		return;
	oxk_add(endpoint, softirq_runs, 1);
	if (oxk_read(link, OXK_SOFTIRQ_BYTES_MAX) == OXK_RUN_LONG) {
		link->in_thread = true;
		spin_lock_bh(&endpoint->lock);
		oxk_read_again(link);
		spin_unlock_bh(&endpoint->lock);
	}
}

static void oxk_data_ready(struct sock *sk)
{
	struct oxk_link *link = sk->sk_user_data;

	if (link)
		oxk_read_in_softirq(link);
}

static void oxk_write_space(struct sock *sk)
{
	struct oxk_link *link = sk->sk_user_data;

	if (!link || !sk_stream_is_writeable(sk))
		return;
	if (sk->sk_socket)
		clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	if (!READ_ONCE(link->lost))
		queue_work(link->endpoint->queue, &link->send);
}

/* The handlers of the socket are ours from now on. It is the endpoint's own, so no other module has
 * put any there; what there are serve those who sleep at it. */
void oxk_hook(struct oxk_link *link)
{
	struct sock *sk = link->socket->sk;

	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	link->data_ready = sk->sk_data_ready;
	link->state_change = sk->sk_state_change;
	link->error_report = sk->sk_error_report;
	link->write_space = sk->sk_write_space;
	sk->sk_user_data = link;
	sk->sk_data_ready = oxk_data_ready;
	sk->sk_state_change = oxk_data_ready;
	sk->sk_error_report = oxk_data_ready;
	sk->sk_write_space = oxk_write_space;
	write_unlock_bh(&sk->sk_callback_lock);
	link->hooked = true;
	/* What came before the handlers were ours does not call them. */
	oxk_read_in_softirq(link);
	release_sock(sk);
}

/* TCP may keep the connection when the module is gone. */
void oxk_unhook(struct oxk_link *link)
{
	struct sock *sk = link->socket->sk;

	lock_sock(sk);
	if (!link->hooked) {
		release_sock(sk);
		return;
	}
	link->hooked = false;
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = NULL;
	sk->sk_data_ready = link->data_ready;
	sk->sk_state_change = link->state_change;
	sk->sk_error_report = link->error_report;
	sk->sk_write_space = link->write_space;
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
}
