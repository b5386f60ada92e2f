// SPDX-License-Identifier: GPL-2.0
/*
 * pm.c: the carrier PM. The protocol is the core's (oxk_pm_…, core.h); this file has the card, the
 * frames and the clock. Frames of the endpoint's EtherType come to oxk_pm_receive in softirq, are
 * given to the core under the endpoint's lock, and their payload is copied once, to where it
 * belongs. What is to leave is made into packets of the network's under the lock and handed to the
 * card after it (oxk_pm_pump), by one CPU at a time for each peer, so that frames keep their order.
 * Payload is lent: frames refer to the caller's pages, with a flight as sender.c has them. One timer
 * serves all peers.
 *
 * A connection by TCP comes first, and both ends prove themselves on it and tell each other their
 * cards; afterwards it carries nothing, and its end is the peer's end.
 */
#include <linux/etherdevice.h>
#include <linux/highmem.h>
#include <linux/if_arp.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/busy_poll.h>
#include <net/tcp.h>

#include "../../runtime/memory.h"
#include "oxk_shim.h"

static_assert(OXK_PM_PACKETS_MAX == OXK_FLIGHTS_MAX);

/* How long an end that has proved itself may take to tell its card. */
#define OXK_PM_CARD_MS 2000
/* Channels of processes end below. */
#define OXK_PM_CHANNEL_MIN 4096u

struct oxk_port {
	struct oxk_endpoint *endpoint;
	struct packet_type type;
	struct notifier_block notifier;
	u16 channel;
	unsigned int napi_id; /* of the card's queue that frames came from last */

	/* Under the endpoint's lock. */
	u32 frame_bytes_max;
	struct net_device *card; /* NULL: it is gone */
	struct oxk_pm *pm;
	struct list_head wanted; /* links that may have something to send */
	struct hrtimer timer;
	u64 armed; /* when it fires */
	u8 *in, *out; /* a frame in one piece */
	struct oxk_pm_frame frame;
	u8 *held; /* of each peer: bytes that the core does not take yet */
};

static u64 oxk_now(void)
{
	return ktime_get_ns();
}

static u32 oxk_place(const struct oxk_link *link)
{
	return link - link->endpoint->links;
}

/* The link may have something to send. The endpoint is locked. */
void oxk_pm_want(struct oxk_link *link)
{
	if (list_empty(&link->wanted))
		list_add_tail(&link->wanted, &link->endpoint->port->wanted);
}

/* The timer fires no later than the link needs it. The endpoint is locked. */
static void oxk_pm_arm(struct oxk_port *port, struct oxk_link *link)
{
	u64 at = oxk_pm_timeout(port->pm, oxk_place(link));

	if (at >= port->armed)
		return;
	port->armed = at;
	hrtimer_start(&port->timer, ns_to_ktime(at), HRTIMER_MODE_ABS_SOFT);
}

static enum hrtimer_restart oxk_pm_fire(struct hrtimer *timer)
{
	struct oxk_port *port = container_of(timer, struct oxk_port, timer);
	struct oxk_endpoint *endpoint = port->endpoint;
	struct oxk_link *link;
	u64 now = oxk_now();
	u32 i;

	spin_lock_bh(&endpoint->lock);
	port->armed = U64_MAX;
	for (i = 0; i < endpoint->params.peers; i++) {
		link = &endpoint->links[i];
		if (oxk_pm_timeout(port->pm, i) <= now) {
			if (!oxk_pm_expire(port->pm, i, now))
				oxk_lose_locked(link, -ETIMEDOUT);
			oxk_pm_want(link);
		}
		oxk_pm_arm(port, link);
	}
	spin_unlock_bh(&endpoint->lock);
	oxk_settle(endpoint);
	return HRTIMER_NORESTART;
}

/* ---- what leaves */

static void oxk_area_read(struct oxk_area *area, u64 offset, u8 *to, u32 bytes)
{
	while (bytes) {
		struct bio_vec piece = oxk_area_piece(area, offset, bytes);
		u32 n = min_t(u32, piece.bv_len, PAGE_SIZE - piece.bv_offset);

		memcpy_from_page(to, piece.bv_page, piece.bv_offset, n);
		to += n;
		offset += n;
		bytes -= n;
	}
}

/* The pieces of a run's memory, of a page at most each; how many, or 0 if they are to be copied. */
static u32 oxk_pm_pieces(struct oxk_area *area, const struct oxk_pm_run *run,
			 struct bio_vec pieces[MAX_SKB_FRAGS])
{
	u32 done, n = 0;

	if (run->bytes < OXK_LENT_BYTES_MIN)
		return 0;
	for (done = 0; done < run->bytes; n++) {
		if (n == MAX_SKB_FRAGS)
			return 0;
		pieces[n] = oxk_area_piece(area, run->offset + done, run->bytes - done);
		/* References are to single pages. */
		pieces[n].bv_len = min_t(u32, pieces[n].bv_len, PAGE_SIZE - pieces[n].bv_offset);
		if (!sendpage_ok(pieces[n].bv_page))
			return 0;
		done += pieces[n].bv_len;
	}
	return n;
}

/* The frame refers to the pages of a run. */
static void oxk_pm_lend(struct sk_buff *skb, const struct bio_vec *pieces, u32 n, u32 bytes,
			struct oxk_flight *flight)
{
	u32 i;

	for (i = 0; i < n; i++) {
		get_page(pieces[i].bv_page);
		skb_fill_page_desc(skb, i, pieces[i].bv_page, pieces[i].bv_offset,
				   pieces[i].bv_len);
	}
	skb->len += bytes;
	skb->data_len += bytes;
	skb->truesize += bytes;
	skb_zcopy_set(skb, &flight->pages, NULL);
}

/* The next frame of a link as a packet of the network's; NULL if there is none. A frame for which
 * there is no memory is one that was lost: it is sent again in time. The endpoint is locked. */
static struct sk_buff *oxk_pm_next(struct oxk_link *link, u64 now, bool *had)
{
	struct oxk_endpoint *endpoint = link->endpoint;
	struct oxk_port *port = endpoint->port;
	struct oxk_pm_frame *frame = &port->frame;
	struct net_device *card = port->card;
	struct bio_vec pieces[MAX_SKB_FRAGS];
	u32 linear, before, n = 0, i;
	struct oxk_pm_run *run;
	struct sk_buff *skb;

	*had = card && !oxk_pm_next_frame(port->pm, oxk_place(link), now, port->out, frame);
	if (!*had)
		return NULL;
	linear = frame->bytes;
	run = frame->n_runs ? &frame->runs[frame->n_runs - 1] : NULL;
	/* The last run can be lent, if it ends the frame. */
	if (run && run->at + run->bytes == frame->bytes)
		n = oxk_pm_pieces(oxk_request_area(*oxk_slot(endpoint, run->token)), run, pieces);
	/* What is lent needs no memory here: a long frame would need several pages in a row. */
	if (n)
		linear = run->at;
	/* Read once: a tunnel's changes at any time. */
	before = LL_RESERVED_SPACE(card);
	skb = alloc_skb(before + linear + card->needed_tailroom, GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return NULL;
	skb_reserve(skb, before);
	skb_reset_network_header(skb);
	skb->dev = card;
	skb->protocol = port->type.type;
	skb_put_data(skb, port->out, linear);
	if (n) {
		oxk_pm_lend(skb, pieces, n, run->bytes, &link->flight[run->packet]);
		oxk_add(endpoint, bytes_lent, run->bytes);
	}
	for (i = 0; i < frame->n_runs; i++) {
		run = &frame->runs[i];
		if (run->at >= linear)
			break;
		oxk_area_read(oxk_request_area(*oxk_slot(endpoint, run->token)), run->offset,
			      skb->data + run->at, run->bytes);
		oxk_add(endpoint, bytes_copied, run->bytes);
	}
	if (dev_hard_header(skb, card, ntohs(port->type.type), link->mac, card->dev_addr,
			    skb->len) < 0) {
		kfree_skb(skb);
		return NULL;
	}
	oxk_add(endpoint, frames_sent, 1);
	if (frame->repeat)
		oxk_add(endpoint, frames_repeated, 1);
	return skb;
}

static u32 oxk_pm_feed(struct oxk_link *link, const u8 *data, u32 bytes, u64 now);

/* Packets of the core go to the link. The endpoint is locked. */
static bool oxk_pm_fill(struct oxk_link *link, u64 now)
{
	struct oxk_endpoint *endpoint = link->endpoint;
	struct oxk_port *port = endpoint->port;
	struct oxk_flight *flight;
	bool any = false;
	u32 held;
	u64 token;

	while (!link->lost) {
		flight = oxk_flight_new(link);
		if (!flight) {
			link->starved = true;
			return any;
		}
		if (oxk_pm_take(endpoint->core, port->pm, link->peer, flight - link->flight, now,
				&token)) {
			list_add(&flight->list, &link->flights);
			link->n_flying--;
			break;
		}
		flight->token = token;
		link->on_link |= 1u << (flight - link->flight);
		any = true;
	}
	if (!link->lost && link->stopped && !oxk_core_has_to_send(endpoint->core, link->peer)) {
		held = link->held_bytes;
		link->stopped = false;
		link->held_bytes = 0;
		oxk_pm_hold(port->pm, oxk_place(link), false, now);
		oxk_pm_feed(link, port->held + (size_t)oxk_place(link) * OXK_PM_FRAME_BYTES_MAX,
			    held, now);
		any = true;
	}
	return any;
}

/* Sends what a link has, in so many batches at most. The endpoint is locked, but not while the card
 * is called. */
static bool oxk_pm_pump_link(struct oxk_link *link, u32 *left)
{
	struct oxk_endpoint *endpoint = link->endpoint;
	struct net_device *card;
	struct sk_buff_head frames;
	struct sk_buff *skb;
	bool any = false, had;
	u64 now;

	__skb_queue_head_init(&frames);
	do {
		now = oxk_now();
		any |= oxk_pm_fill(link, now);
		do {
			skb = oxk_pm_next(link, now, &had);
			if (skb)
				__skb_queue_tail(&frames, skb);
		} while (had && skb_queue_len(&frames) < OXK_PM_BATCH);
		oxk_pm_arm(endpoint->port, link);
		if (skb_queue_empty(&frames))
			break;
		any = true;
		card = endpoint->port->card;
		dev_hold(card);
		spin_unlock_bh(&endpoint->lock);
		while ((skb = __skb_dequeue(&frames)))
			dev_queue_xmit(skb);
		dev_put(card);
		spin_lock_bh(&endpoint->lock);
	} while (--*left);
	return any;
}

/* Sends what links want to send, in so many batches at most: the rest is left to a work item.
 * Whether there was anything, after which requests may be over. */
bool oxk_pm_pump(struct oxk_endpoint *endpoint, u32 *left)
{
	struct oxk_port *port = endpoint->port;
	struct oxk_link *link;
	bool any = false;

	if (!port)
		return false;
	spin_lock_bh(&endpoint->lock);
	while ((link = list_first_entry_or_null(&port->wanted, struct oxk_link, wanted))) {
		list_del_init(&link->wanted);
		if (link->pumping) {
			link->pump_again = true;
			continue;
		}
		link->pumping = true;
		do {
			link->pump_again = false;
			any |= oxk_pm_pump_link(link, left);
		} while (link->pump_again && *left);
		link->pumping = false;
		if (!*left)
			oxk_pm_want(link);
		wake_up(&link->idle);
		if (!*left) {
			queue_work(endpoint->queue, &endpoint->settle);
			any = false;
			break;
		}
	}
	spin_unlock_bh(&endpoint->lock);
	return any;
}

/* ---- what arrives */

/* Bytes of the peer's stream. The endpoint is locked. */
static u32 oxk_pm_feed(struct oxk_link *link, const u8 *data, u32 bytes, u64 now)
{
	struct oxk_endpoint *endpoint = link->endpoint;
	struct oxk_port *port = endpoint->port;
	u8 *held = port->held + (size_t)oxk_place(link) * OXK_PM_FRAME_BYTES_MAX;
	struct oxk_core_step step;
	u32 used = 0;

	if (link->lost)
		return 0;
	if (link->stopped) {
		memcpy(held + link->held_bytes, data, bytes);
		link->held_bytes += bytes;
		return 0;
	}
	for (;;) {
		oxk_core_feed(endpoint->core, link->peer, data + used, bytes - used, &step);
		used += step.consumed;
		if (step.what == OXK_STEP_UNEXPECTED) {
			if (!oxk_judge(link, &step, data + used, bytes - used))
				continue;
			step.what = OXK_STEP_BROKEN;
		}
		if (step.what != OXK_STEP_PLACE)
			break;
		oxk_area_write(oxk_request_area(*oxk_slot(endpoint, step.token)), step.offset,
			       data + used, step.bytes);
		oxk_add(endpoint, bytes_placed, step.bytes);
		used += step.bytes;
		oxk_core_placed(endpoint->core, link->peer, 0);
	}
	switch (step.what) {
	case OXK_STEP_STOP:
		link->stopped = true;
		link->held_bytes = bytes - used;
		memmove(held, data + used, bytes - used);
		oxk_pm_hold(port->pm, oxk_place(link), true, now);
		break;
	case OXK_STEP_LEFT:
		oxk_lose_locked(link, -ECONNRESET);
		break;
	case OXK_STEP_BROKEN:
		oxk_lose_locked(link, -EPROTO);
		break;
	}
	return used;
}

/* Packets that the peer has are not read any more, but for frames that still refer to their pages. */
static void oxk_pm_land(struct oxk_link *link, u32 packets)
{
	while (packets) {
		u32 packet = __ffs(packets);

		packets &= packets - 1;
		net_zcopy_put(&link->flight[packet].pages);
	}
}

static void oxk_pm_take_frame(struct oxk_port *port, struct sk_buff *skb)
{
	struct oxk_endpoint *endpoint = port->endpoint;
	u32 place, at, bytes, packet, packets = 0;
	const u8 *header, *data = skb->data;
	u8 copy[OXK_PM_HEADER_BYTES];
	struct oxk_link *link;
	u64 now = oxk_now();
	int error = 0;

	spin_lock_bh(&endpoint->lock);
	if (skb_is_nonlinear(skb)) {
		/* A stranger's is not worth the copy. */
		header = skb_header_pointer(skb, 0, sizeof(copy), copy);
		if (!header || !oxk_pm_is_signed(port->pm, header) ||
		    skb_copy_bits(skb, 0, port->in, skb->len))
			error = -EBADMSG;
		data = port->in;
	}
	if (!error)
		error = oxk_pm_arrive(port->pm, now, data, skb->len, &place);
	if (error == -EBADMSG) {
		spin_unlock_bh(&endpoint->lock);
		oxk_add(endpoint, frames_refused, 1);
		return;
	}
	link = &endpoint->links[place];
	if (!error) {
		WRITE_ONCE(port->napi_id, skb->napi_id);
		while (!oxk_pm_delivered(port->pm, place, &at, &bytes))
			oxk_pm_feed(link, data + at, bytes, now);
		while (!oxk_pm_released(port->pm, place, &packet))
			packets |= 1u << packet;
		link->on_link &= ~packets;
	}
	oxk_pm_want(link);
	spin_unlock_bh(&endpoint->lock);
	oxk_add(endpoint, frames_received, 1);
	oxk_pm_land(link, packets);
	oxk_settle(endpoint);
}

static int oxk_pm_receive(struct sk_buff *skb, struct net_device *card, struct packet_type *type,
			  struct net_device *original)
{
	struct oxk_port *port = container_of(type, struct oxk_port, type);
	__le16 copy, *channel = skb_header_pointer(skb, OXK_PM_CHANNEL_AT, sizeof(copy), &copy);

	if (channel && le16_to_cpu(*channel) == port->channel &&
	    skb->pkt_type != PACKET_OTHERHOST && skb->len <= OXK_PM_FRAME_BYTES_MAX)
		oxk_pm_take_frame(port, skb);
	consume_skb(skb);
	return NET_RX_SUCCESS;
}

/* ---- beginnings and ends */

/* Both ends are proven: they tell each other where frames go to. */
int oxk_pm_greet(struct oxk_link *link, struct socket *socket, bool dialled)
{
	struct oxk_endpoint *endpoint = link->endpoint;
	struct oxk_port *port = endpoint->port;
	u8 cards[2][OXK_PM_CARD_BYTES], salt[OXK_PM_SALT_BYTES], mac[ETH_ALEN];
	struct msghdr message = {};
	struct kvec vector = { .iov_base = cards[1], .iov_len = sizeof(cards[1]) };
	u32 frame_bytes_max;
	int n, error;

	get_random_bytes(salt, sizeof(salt));
	spin_lock_bh(&endpoint->lock);
	if (port->card)
		ether_addr_copy(mac, port->card->dev_addr);
	frame_bytes_max = port->frame_bytes_max;
	error = link->lost ? link->error :
		port->card && frame_bytes_max >= OXK_PM_FRAME_BYTES_MIN ? 0 : -ENODEV;
	spin_unlock_bh(&endpoint->lock);
	if (error)
		return error;
	oxk_pm_card(cards[0], mac, port->channel, link->peer,
		    frame_bytes_max - OXK_PM_HEADER_BYTES, salt);
	error = oxk_send_all(socket, cards[0], sizeof(cards[0]));
	if (error)
		return error;
	socket->sk->sk_rcvtimeo = msecs_to_jiffies(OXK_PM_CARD_MS);
	n = kernel_recvmsg(socket, &message, &vector, 1, vector.iov_len, MSG_WAITALL);
	if (n != sizeof(cards[1]))
		return n == -EAGAIN ? -ETIMEDOUT : n < 0 ? n : -ECONNRESET;
	spin_lock_bh(&endpoint->lock);
	error = link->lost ? link->error : oxk_core_connected(endpoint->core, link->peer);
	if (!error)
		error = oxk_pm_begin(port->pm, oxk_place(link), dialled, endpoint->key, cards[0],
				     oxk_now(), link->mac);
	spin_unlock_bh(&endpoint->lock);
	return error;
}

/* A lost peer has all that was sent to it. */
bool oxk_pm_is_done(struct oxk_link *link)
{
	struct oxk_endpoint *endpoint = link->endpoint;
	bool is;

	spin_lock_bh(&endpoint->lock);
	is = oxk_pm_is_quiet(endpoint->port->pm, oxk_place(link));
	spin_unlock_bh(&endpoint->lock);
	return is;
}

/* No frames are exchanged with a lost peer any more. */
void oxk_pm_stop(struct oxk_link *link)
{
	struct oxk_endpoint *endpoint = link->endpoint;
	u32 packets;

	spin_lock_bh(&endpoint->lock);
	oxk_pm_end(endpoint->port->pm, oxk_place(link));
	spin_unlock_bh(&endpoint->lock);
	/* Frames that are on their way to the card read these packets no more, but are not counted
	 * by flights before they are made. */
	wait_event(link->idle, !READ_ONCE(link->pumping));
	spin_lock_bh(&endpoint->lock);
	packets = link->on_link;
	link->on_link = 0;
	link->held_bytes = 0;
	list_del_init(&link->wanted);
	spin_unlock_bh(&endpoint->lock);
	oxk_pm_land(link, packets);
}

/* Why the peers are lost when this has come to the card; 0: they are not. The endpoint is locked. */
static int oxk_pm_loss(struct oxk_port *port, struct net_device *card, unsigned long event)
{
	switch (event) {
	case NETDEV_UNREGISTER:
		WRITE_ONCE(port->card, NULL);
		return -ENODEV;
	case NETDEV_CHANGEMTU:
		if (card->mtu >= port->frame_bytes_max)
			return 0;
		port->frame_bytes_max = card->mtu;
		return -ENETRESET;
	case NETDEV_CHANGEADDR:
		return -ENETRESET;
	}
	return 0;
}

/* The card goes away, or is no longer the one that peers were told. */
static int oxk_pm_notify(struct notifier_block *notifier, unsigned long event, void *of)
{
	struct oxk_port *port = container_of(notifier, struct oxk_port, notifier);
	struct oxk_endpoint *endpoint = port->endpoint;
	struct net_device *card = netdev_notifier_info_to_dev(of);
	int error;
	u32 i;

	if (card != READ_ONCE(port->card))
		return NOTIFY_DONE;
	spin_lock_bh(&endpoint->lock);
	error = oxk_pm_loss(port, card, event);
	for (i = 0; error && i < endpoint->params.peers; i++)
		if (endpoint->links[i].peer != OXK_NO_PEER)
			oxk_lose_locked(&endpoint->links[i], error);
	spin_unlock_bh(&endpoint->lock);
	if (error)
		oxk_settle(endpoint);
	if (event != NETDEV_UNREGISTER)
		return NOTIFY_DONE;
	dev_remove_pack(&port->type);
	dev_put(card);
	return NOTIFY_DONE;
}

static bool oxk_is_card(const struct net_device *card)
{
	return (card->type == ARPHRD_ETHER || card->type == ARPHRD_LOOPBACK) &&
	       card->addr_len == ETH_ALEN;
}

/* Takes the card, and its frames from now on. */
static int oxk_pm_find_card(struct oxk_port *port, int ifindex)
{
	struct net_device *card;
	int error = -ENODEV;

	/* Under it cards are taken away, and what comes to them is told. */
	rtnl_lock();
	card = __dev_get_by_index(port->endpoint->net, ifindex);
	if (card && oxk_is_card(card) && card->mtu >= OXK_PM_FRAME_BYTES_MIN) {
		dev_hold(card);
		port->frame_bytes_max = min(card->mtu, OXK_PM_FRAME_BYTES_MAX);
		port->type = (struct packet_type){ .type = htons(ETH_P_802_EX1),
						   .dev = card,
						   .func = oxk_pm_receive };
		WRITE_ONCE(port->card, card);
		dev_add_pack(&port->type);
		error = 0;
	}
	rtnl_unlock();
	return error;
}

int oxk_pm_open(struct oxk_endpoint *endpoint)
{
	static atomic_t channels;
	const struct oxk_params *params = &endpoint->params;
	struct oxk_port *port;
	u64 bytes = oxk_pm_bytes(params->peers);
	int error;

	if (params->peers > OXK_PM_PEERS_MAX || params->reap_us > OXK_REAP_US_MAX)
		return -EINVAL;
	port = kvzalloc(sizeof(*port), GFP_KERNEL_ACCOUNT);
	if (!port)
		return -ENOMEM;
	port->endpoint = endpoint;
	INIT_LIST_HEAD(&port->wanted);
	port->armed = U64_MAX;
	hrtimer_init(&port->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	port->timer.function = oxk_pm_fire;
	port->channel = OXK_PM_CHANNEL_MIN +
			(u32)atomic_inc_return(&channels) % (65536 - OXK_PM_CHANNEL_MIN);
	port->in = kvmalloc(2 * OXK_PM_FRAME_BYTES_MAX, GFP_KERNEL_ACCOUNT);
	port->held = kvmalloc_array(params->peers, OXK_PM_FRAME_BYTES_MAX, GFP_KERNEL_ACCOUNT);
	error = port->in && port->held && ox_shim_has_memory(bytes) ? 0 : -ENOMEM;
	if (error)
		goto out;
	port->out = port->in + OXK_PM_FRAME_BYTES_MAX;
	port->pm = oxk_pm_new(params->peers);
	endpoint->port = port;
	/* First, so that nothing that comes to the card is missed. */
	port->notifier.notifier_call = oxk_pm_notify;
	error = register_netdevice_notifier_net(endpoint->net, &port->notifier);
	if (!error) {
		error = oxk_pm_find_card(port, params->ifindex);
		if (!error)
			return 0;
		unregister_netdevice_notifier_net(endpoint->net, &port->notifier);
	}
	endpoint->port = NULL;
	oxk_pm_free(port->pm);
out:
	kvfree(port->held);
	kvfree(port->in);
	kvfree(port);
	return error;
}

/* No link is in use. */
void oxk_pm_close(struct oxk_endpoint *endpoint)
{
	struct oxk_port *port = endpoint->port;

	if (!port)
		return;
	/* As if the card went away: no frame comes any more. */
	unregister_netdevice_notifier_net(endpoint->net, &port->notifier);
	if (port->card) {
		dev_remove_pack(&port->type);
		dev_put(port->card);
	}
	hrtimer_cancel(&port->timer);
	oxk_pm_free(port->pm);
	kvfree(port->held);
	kvfree(port->in);
	endpoint->port = NULL;
	kvfree(port);
}

/* ---- reaping */

struct oxk_reaping {
	bool (*over)(void *of);
	void *of;
	u64 until;
};

static bool oxk_reap_end(void *argument, unsigned long start)
{
	struct oxk_reaping *reaping = argument;

	return reaping->over(reaping->of) || signal_pending(current) ||
	       ktime_get_ns() >= reaping->until;
}

/* Who waits runs the receive of the card's driver, instead of being woken by its interrupt. The
 * endpoint is held. */
void oxk_reap(struct oxk_endpoint *endpoint, bool (*over)(void *of), void *of)
{
	struct oxk_port *port = endpoint->port;
	struct oxk_reaping reaping = {
		.over = over,
		.of = of,
		.until = ktime_get_ns() + endpoint->params.reap_us * NSEC_PER_USEC,
	};
	unsigned int napi_id;

	napi_id = port && endpoint->params.reap_us ? READ_ONCE(port->napi_id) : 0;
	if (napi_id < MIN_NAPI_ID)
		return;
	oxk_add(endpoint, reaps, 1);
	napi_busy_loop(napi_id, oxk_reap_end, &reaping, true, BUSY_POLL_BUDGET);
	if (over(of))
		oxk_add(endpoint, reaps_over, 1);
}
EXPORT_SYMBOL_GPL(oxk_reap);

static bool oxk_is_over(void *request)
{
	return !oxk_test(request);
}

void oxk_pm_reap(struct oxk_endpoint *endpoint, struct oxk_request *request)
{
	oxk_reap(endpoint, oxk_is_over, request);
}
