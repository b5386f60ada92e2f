// SPDX-License-Identifier: GPL-2.0
/*
 * sender.c: a work item for each link writes what the core has for its peer, until the socket takes
 * no more; the socket's write_space brings it back.
 *
 * Payload is lent to TCP: it gets references to the pages (MSG_ZEROCOPY with our own ubuf_info) and
 * says when nothing refers to them any more. That is later than the acknowledgement where the
 * receiver is on this machine, and has to be: its queue would have the same pages, and the sender's
 * caller could change them before they are read. TCP copies such payload on its way instead. Slab
 * memory, which knows no references, and short payload are copied here.
 */
#include <linux/delay.h>
#include <linux/version.h>
#include <net/tcp.h>

#include "oxk_shim.h"

#define OXK_SEND_PIECES 16

/* Nothing refers to the pages of a flight any more. In whatever context frees packets. */
static void oxk_flight_put(struct sk_buff *skb, struct ubuf_info *pages, bool success)
{
	struct oxk_flight *flight = container_of(pages, struct oxk_flight, pages);
	struct oxk_link *link = flight->link;
	struct oxk_endpoint *endpoint = link->endpoint;

	if (!refcount_dec_and_test(&pages->refcnt))
		return;
	spin_lock_bh(&endpoint->lock);
	if (flight->token)
		oxk_core_sent(endpoint->core, flight->token);
	flight->token = 0;
	list_add(&flight->list, &link->flights);
	if (link->starved && !link->lost) {
		link->starved = false;
		if (endpoint->port)
			oxk_pm_want(link);
		else
			queue_work(endpoint->queue, &link->send);
	}
	spin_unlock_bh(&endpoint->lock);
	oxk_settle(endpoint);
	/* The last that is done here: who waits for it takes the lock before the link is gone. */
	spin_lock_bh(&endpoint->lock);
	if (!--link->n_flying)
		wake_up(&link->idle);
	spin_unlock_bh(&endpoint->lock);
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
static const struct ubuf_info_ops oxk_flight_ops = { .complete = oxk_flight_put };
#define oxk_flight_set(flight) ((flight)->pages.ops = &oxk_flight_ops)
#else
#define oxk_flight_set(flight) ((flight)->pages.callback = oxk_flight_put)
#endif

void oxk_flights_init(struct oxk_link *link)
{
	int i;

	INIT_LIST_HEAD(&link->flights);
	for (i = 0; i < OXK_FLIGHTS_MAX; i++) {
		link->flight[i].link = link;
		list_add(&link->flight[i].list, &link->flights);
	}
}

/* The endpoint is locked. */
struct oxk_flight *oxk_flight_new(struct oxk_link *link)
{
	struct oxk_flight *flight =
		list_first_entry_or_null(&link->flights, struct oxk_flight, list);

	if (!flight)
		return NULL;
	list_del_init(&flight->list);
	link->n_flying++;
	flight->token = 0;
	/* Without SKBFL_DONT_ORPHAN every transmission would copy the pages first, and TCP would take
	 * back more memory than it was charged for. */
	flight->pages = (struct ubuf_info) { .flags = SKBFL_ZEROCOPY_FRAG | SKBFL_DONT_ORPHAN };
	oxk_flight_set(flight);
	refcount_set(&flight->pages.refcnt, 1);
	return flight;
}

/* There may be something to send. The endpoint is locked. */
void oxk_kick(struct oxk_link *link)
{
	if (link->lost || !oxk_core_has_to_send(link->endpoint->core, link->peer))
		return;
	/* Whoever has the lock settles afterwards. */
	if (link->endpoint->port)
		oxk_pm_want(link);
	else
		queue_work(link->endpoint->queue, &link->send);
}

/* Gets the next packet: 1, or 0 if there is none now. */
static int oxk_next_packet(struct oxk_link *link)
{
	struct oxk_endpoint *endpoint = link->endpoint;
	struct oxk_flight *flight;
	int got = 0;

	spin_lock_bh(&endpoint->lock);
	if (link->lost) {
		spin_unlock_bh(&endpoint->lock);
		return 0;
	}
	flight = oxk_flight_new(link);
	if (!flight) {
		link->starved = true;
		spin_unlock_bh(&endpoint->lock);
		return 0;
	}
	got = !oxk_core_poll_send(endpoint->core, link->peer, &link->transmit);
	if (got && link->transmit.bytes) {
		flight->token = link->transmit.token;
		link->flying = flight;
	} else {
		list_add(&flight->list, &link->flights);
		link->n_flying--;
	}
	if (!got && link->stopped) {
		link->stopped = false;
		oxk_read_again(link);
	}
	spin_unlock_bh(&endpoint->lock);
	if (got) {
		link->written = 0;
		link->is_sending = true;
		oxk_settle(endpoint);
	}
	return got;
}

static bool oxk_is_lendable(const struct bio_vec *piece)
{
	u32 at = piece->bv_offset & PAGE_MASK, end = piece->bv_offset + piece->bv_len;

	for (; at < end; at += PAGE_SIZE)
		if (!sendpage_ok(piece->bv_page + (at >> PAGE_SHIFT)))
			return false;
	return true;
}

static int oxk_write_head(struct oxk_link *link)
{
	struct oxk_core_transmit *transmit = &link->transmit;
	struct msghdr message = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL |
					       (transmit->bytes ? MSG_MORE : 0) };
	struct kvec head = { .iov_base = transmit->head + link->written,
			     .iov_len = transmit->head_bytes - link->written };

	return kernel_sendmsg(link->socket, &message, &head, 1, head.iov_len);
}

/* Writes as many pieces of the payload as are lent, or copied, alike. */
static int oxk_write_payload(struct oxk_link *link, struct oxk_area *area)
{
	struct oxk_core_transmit *transmit = &link->transmit;
	u64 done = link->written - transmit->head_bytes, left = transmit->bytes - done, bytes = 0;
	struct msghdr message = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	struct bio_vec pieces[OXK_SEND_PIECES];
	bool lend = false, may_lend = transmit->bytes >= OXK_LENT_BYTES_MIN;
	u32 n = 0;
	int sent;

	while (n < OXK_SEND_PIECES && bytes < left) {
		struct bio_vec piece =
			oxk_area_piece(area, transmit->offset + done + bytes, left - bytes);
		bool is_lent = may_lend && oxk_is_lendable(&piece);

		if (n && is_lent != lend)
			break;
		lend = is_lent;
		bytes += piece.bv_len;
		pieces[n++] = piece;
	}
	if (bytes < left)
		message.msg_flags |= MSG_MORE;
	if (lend) {
		message.msg_flags |= MSG_ZEROCOPY;
		message.msg_ubuf = &link->flying->pages;
	}
	iov_iter_bvec(&message.msg_iter, ITER_SOURCE, pieces, n, bytes);
	sent = sock_sendmsg(link->socket, &message);
	if (sent > 0 && lend)
		oxk_add(link->endpoint, bytes_lent, sent);
	else if (sent > 0)
		oxk_add(link->endpoint, bytes_copied, sent);
	return sent;
}

/* Writes the packet: 0 all of it, -EAGAIN the socket takes no more, or why it never will. */
static int oxk_write_packet(struct oxk_link *link)
{
	struct oxk_core_transmit *transmit = &link->transmit;
	struct oxk_request *request = NULL;
	int sent;

	/* The core keeps the request for as long as the flight has not landed. */
	if (transmit->bytes)
		request = READ_ONCE(*oxk_slot(link->endpoint, transmit->token));
	while (link->written < transmit->head_bytes + transmit->bytes) {
		if (link->written < transmit->head_bytes)
			sent = oxk_write_head(link);
		else
			sent = oxk_write_payload(link, oxk_request_area(request));
		if (sent <= 0)
			return sent ?: -EPIPE;
		link->written += sent;
	}
	return 0;
}

static void oxk_land(struct oxk_link *link)
{
	struct oxk_flight *flight = link->flying;

	link->flying = NULL;
	link->is_sending = false;
	if (flight)
		net_zcopy_put(&flight->pages);
}

void oxk_send_work(struct work_struct *work)
{
	struct oxk_link *link = container_of(work, struct oxk_link, send);
	u32 n_refused = 0;
	int error;

	if (link->endpoint->port) {
		spin_lock_bh(&link->endpoint->lock);
		oxk_pm_want(link);
		spin_unlock_bh(&link->endpoint->lock);
		oxk_settle(link->endpoint);
		return;
	}
	while (link->is_sending || oxk_next_packet(link)) {
		error = oxk_write_packet(link);
		if (error == -EAGAIN) {
			/* write_space tells of room. If there is room, memory was short, and if
			 * nothing is on its way, nobody would ever come back for the rest. */
			if (!sk_stream_is_writeable(link->socket->sk) || READ_ONCE(link->lost))
				return;
			if (n_refused++)
				msleep(OXK_MEMORY_PAUSE_MS);
			continue;
		}
		n_refused = 0;
		oxk_land(link);
		if (error) {
			oxk_lose(link, error);
			return;
		}
		cond_resched();
	}
}

/* Nothing is written any more. The work item does not run, and will not. */
void oxk_send_abandon(struct oxk_link *link)
{
	oxk_land(link);
}
