// SPDX-License-Identifier: GPL-2.0
/*
 * port.c: the endpoint of a process, and the rings that it shares with the kernel.
 *
 * A slot of the receive ring is a receive that accepts any message. They are made in the order of
 * the ring, and messages meet the oldest receive: so the order of slots is that of each peer's
 * messages, and the process looks at the next slot alone. Sends are made by turns, straight from
 * their slots; those of one peer may be over before those of another that were made earlier.
 */
#include <linux/capability.h>
#include <linux/key.h>
#include <linux/nsproxy.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <net/net_namespace.h>

#include "../../runtime/users.h"
#include "port.h"

/* Of the ports of one user: each takes 5 MiB and more, and threads. */
#define OXKP_USER_PORTS_MAX 64
/* What waits here of a peer while no slot is free: a message and what a message costs besides. */
#define OXKP_WINDOW_BYTES (16u << 10)

static_assert(sizeof(struct oxkp_control) <= OXKP_CONTROL_BYTES);
static_assert(OXKP_PEERS_MAX == OXK_PM_PEERS_MAX);
static_assert(OXKP_REAP_US_MAX <= OXK_REAP_US_MAX);

struct oxkp_user {
	struct ox_user user;
	u64 n_ports;
};

static OX_USERS(oxkp_users, struct oxkp_user);

static struct oxkp_control *oxkp_control(struct oxkp_port *port)
{
	return port->area;
}

static void *oxkp_memory(struct oxkp_port *port, const struct oxkp_slot *slot)
{
	u32 before = slot >= port->in && slot < port->in + OXKP_SLOTS ? OXKP_SLOTS : 0;

	return port->area + OXKP_CONTROL_BYTES + (size_t)(before + slot->at) * OXKP_SLOT_BYTES;
}

static void oxkp_wake(struct oxkp_port *port)
{
	if (wq_has_sleeper(&port->wait))
		wake_up_all(&port->wait);
}

/* ---- what leaves --------------------------------------------------------------------- */

static void oxkp_sent(struct oxk_request *request)
{
	struct oxkp_slot *slot = container_of(request, struct oxkp_slot, request);
	struct oxkp_port *port = slot->port;
	u32 at = slot->at;

	/* From here on a turn may take it again. */
	smp_store_release(&slot->busy, false);
	smp_store_release(&oxkp_control(port)->out[at].busy, 0);
	/* The process says that it wants to know, and then looks whether the slot is busy. */
	smp_mb();
	if (READ_ONCE(oxkp_control(port)->wants)) {
		WRITE_ONCE(port->freed, true);
		oxkp_wake(port);
	}
}

/* The port is locked. */
static int oxkp_send(struct oxkp_port *port, u32 at)
{
	struct oxkp_out *out = &oxkp_control(port)->out[at % OXKP_SLOTS];
	struct oxkp_slot *slot = &port->out[at % OXKP_SLOTS];
	struct kvec memory = { .iov_len = READ_ONCE(out->bytes) };
	struct oxk_vector vector = { .kind = OXK_KERNEL, .n = 1, .kernel = &memory };
	u64 peer = READ_ONCE(out->peer);
	int error;

	if (at >= OXKP_SLOTS || smp_load_acquire(&slot->busy) || !memory.iov_len ||
	    memory.iov_len > OXKP_SLOT_BYTES)
		return -EINVAL;
	memory.iov_base = oxkp_memory(port, slot);
	slot->busy = true;
	WRITE_ONCE(out->busy, 1);
	error = oxk_isend(port->endpoint, peer, 0, &vector, &slot->request);
	if (!error)
		return 0;
	/* News tell of a peer that is lost, and of what is sent to it nothing is told. */
	if (error == -ENOTCONN) {
		oxkp_sent(&slot->request);
		return 0;
	}
	slot->busy = false;
	WRITE_ONCE(out->busy, 0);
	return error;
}

/* ---- what comes ---------------------------------------------------------------------- */

static void oxkp_received(struct oxk_request *request)
{
	struct oxkp_slot *slot = container_of(request, struct oxkp_slot, request);
	struct oxkp_port *port = slot->port;
	struct oxkp_in *in = &oxkp_control(port)->in[slot->at];
	u32 stamp = slot->stamp;

	in->peer = request->status.peer;
	in->bytes = request->status.placed;
	in->error = request->status.error;
	WRITE_ONCE(slot->over, true);
	/* Before a turn may make it a receive again. */
	smp_store_release(&in->stamp, stamp);
	smp_store_release(&slot->busy, false);
	oxkp_wake(port);
}

/* The port is locked. `n`: which message of all it will be. */
static int oxkp_receive(struct oxkp_port *port, u32 n)
{
	struct oxkp_slot *slot = &port->in[n % OXKP_SLOTS];
	struct kvec memory = { .iov_base = oxkp_memory(port, slot), .iov_len = OXKP_SLOT_BYTES };
	struct oxk_vector vector = { .kind = OXK_KERNEL, .n = 1, .kernel = &memory };
	int error;

	slot->stamp = n + 1;
	slot->over = false;
	slot->busy = true;
	error = oxk_irecv(port->endpoint, 0, OXK_MASK_ANY, &vector, &slot->request);
	if (error)
		slot->busy = false;
	return error;
}

/* ---- turns --------------------------------------------------------------------------- */

/* A message that has come is seen by its stamp, a moment before its slot is not busy any more: that
 * moment is waited for. False: it has not come. */
static bool oxkp_has_come(struct oxkp_slot *slot)
{
	while (smp_load_acquire(&slot->busy)) {
		if (!READ_ONCE(slot->over))
			return false;
		cond_resched();
	}
	return true;
}

/* Takes what the process has queued, and the slots of what it has consumed. EINVAL: it has written
 * nonsense. */
int oxkp_turn(struct oxkp_port *port)
{
	struct oxkp_control *control = oxkp_control(port);
	u32 queued, consumed;
	int error;

	atomic64_inc(&port->turns);
	error = mutex_lock_killable(&port->lock);
	if (error)
		return error;
	WRITE_ONCE(port->freed, false);
	/* What was written before it is read after it. */
	consumed = smp_load_acquire(&control->consumed);
	if (consumed - port->consumed > OXKP_SLOTS)
		error = -EINVAL;
	while (!error && port->consumed != consumed) {
		if (!oxkp_has_come(&port->in[port->consumed % OXKP_SLOTS]))
			error = -EINVAL;
		else
			error = oxkp_receive(port, port->consumed + OXKP_SLOTS);
		if (!error)
			port->consumed++;
	}
	queued = smp_load_acquire(&control->queued);
	if (queued - port->taken > OXKP_SLOTS)
		error = -EINVAL;
	while (!error && port->taken != queued) {
		error = oxkp_send(port, READ_ONCE(control->queue[port->taken % OXKP_SLOTS]));
		if (!error)
			port->taken++;
	}
	mutex_unlock(&port->lock);
	return error;
}

static bool oxkp_has_news(struct oxkp_port *port)
{
	return READ_ONCE(port->news_begin) != READ_ONCE(port->news_end);
}

/* Whether there is something to be looked at since the last turn. */
bool oxkp_has_something(struct oxkp_port *port)
{
	u32 next = READ_ONCE(port->consumed) % OXKP_SLOTS;

	return !smp_load_acquire(&port->in[next].busy) || oxkp_has_news(port) ||
	       READ_ONCE(port->freed);
}

static bool oxkp_has_reaped(void *port)
{
	return oxkp_has_something(port);
}

int oxkp_wait(struct oxkp_port *port, u32 ms)
{
	long left;
	int error = oxkp_turn(port);

	if (error || oxkp_has_something(port))
		return error;
	oxk_reap(port->endpoint, oxkp_has_reaped, port);
	if (!ms || oxkp_has_something(port))
		return 0;
	atomic64_inc(&port->sleeps);
	left = wait_event_interruptible_timeout(port->wait, oxkp_has_something(port),
						msecs_to_jiffies(min(ms, OXKP_WAIT_MS_MAX)));
	return left < 0 ? left : 0;
}

/* ---- peers --------------------------------------------------------------------------- */

static void oxkp_peer_lost(struct oxk_endpoint *endpoint, oxk_peer_t peer, int error, void *context)
{
	struct oxkp_port *port = context;

	spin_lock_bh(&port->news_lock);
	/* Who lets more come than all his peers twice over is not told of the rest. */
	if (port->news_end - port->news_begin < 2 * port->peers) {
		port->news[port->news_end++ % (2 * port->peers)] =
			(struct oxkp_news){ .peer = peer, .error = error };
		WRITE_ONCE(oxkp_control(port)->news, port->news_end);
	}
	spin_unlock_bh(&port->news_lock);
	oxkp_wake(port);
}

int oxkp_next_news(struct oxkp_port *port, struct oxkp_news *news)
{
	int error = -EAGAIN;

	spin_lock_bh(&port->news_lock);
	if (port->news_begin != port->news_end) {
		*news = port->news[port->news_begin++ % (2 * port->peers)];
		error = 0;
	}
	spin_unlock_bh(&port->news_lock);
	return error;
}

/* ---- beginnings and ends ------------------------------------------------------------- */

static void oxkp_port_free(struct oxkp_port *port)
{
	if (port->user) {
		ox_user_give_back(&oxkp_users, &port->user->n_ports, 1);
		ox_user_put(&oxkp_users, &port->user->user);
	}
	vfree(port->area);
	kvfree(port->news);
	kvfree(port);
	atomic64_dec(&oxkp_ports_all);
}

static int oxkp_take_user(struct oxkp_port *port)
{
	struct oxkp_user *user = ox_user_get(&oxkp_users);

	if (!user)
		return -ENOMEM;
	port->unbounded = capable(CAP_SYS_RESOURCE);
	if (!ox_user_take(&oxkp_users, &user->n_ports, 1,
			  port->unbounded ? U64_MAX : OXKP_USER_PORTS_MAX)) {
		ox_user_put(&oxkp_users, &user->user);
		return -EDQUOT;
	}
	port->user = user;
	return 0;
}

static void oxkp_slot_init(struct oxkp_port *port, struct oxkp_slot *slot, u32 at,
			   void (*done)(struct oxk_request *request))
{
	slot->port = port;
	slot->at = at;
	slot->request.done = done;
}

static int oxkp_make_tables(struct oxkp_port *port)
{
	u32 at;

	mutex_init(&port->lock);
	spin_lock_init(&port->news_lock);
	init_waitqueue_head(&port->wait);
	for (at = 0; at < OXKP_SLOTS; at++) {
		oxkp_slot_init(port, &port->out[at], at, oxkp_sent);
		oxkp_slot_init(port, &port->in[at], at, oxkp_received);
	}
	port->news = kvcalloc(2 * port->peers, sizeof(*port->news), GFP_KERNEL_ACCOUNT);
	/* Of zeros. */
	port->area = vmalloc_user(OXKP_AREA_BYTES);
	return port->news && port->area ? 0 : -ENOMEM;
}

static int oxkp_open_endpoint(struct oxkp_port *port, const struct oxkp_open *how, struct key *key)
{
	return oxk_open(&(struct oxk_params){
				.net = current->nsproxy->net_ns,
				.listen = (const struct sockaddr *)how->address,
				.listen_bytes = how->bytes,
				.key = key,
				.requests = 2 * OXKP_SLOTS,
				.peers = how->peers,
				.eager_bytes = OXKP_SLOT_BYTES,
				.unexpected_bytes = (u64)OXKP_WINDOW_BYTES * how->peers,
				.carrier = OXK_PM,
				.ifindex = how->ifindex,
				.reap_us = how->reap_us,
				.peer_lost = oxkp_peer_lost,
				.context = port,
			},
			&port->endpoint);
}

int oxkp_port_open(const struct oxkp_open *how, struct oxkp_port **made)
{
	struct oxkp_port *port;
	key_ref_t key;
	int error;
	u32 n;

	if (how->bytes > OXKP_ADDRESS_BYTES || !how->peers || how->peers > OXKP_PEERS_MAX ||
	    how->reap_us > OXKP_REAP_US_MAX)
		return -EINVAL;
	key = lookup_user_key(how->key, 0, KEY_NEED_SEARCH);
	if (IS_ERR(key))
		return PTR_ERR(key);
	port = kvzalloc(sizeof(*port), GFP_KERNEL_ACCOUNT);
	if (!port) {
		key_ref_put(key);
		return -ENOMEM;
	}
	atomic64_inc(&oxkp_ports_all);
	port->peers = how->peers;
	error = oxkp_take_user(port);
	if (!error)
		error = oxkp_make_tables(port);
	if (!error)
		error = oxkp_open_endpoint(port, how, key_ref_to_ptr(key));
	key_ref_put(key);
	if (error) {
		oxkp_port_free(port);
		return error;
	}
	for (n = 0; n < OXKP_SLOTS && !error; n++)
		error = oxkp_receive(port, n);
	if (error) {
		oxkp_port_close(port);
		return error;
	}
	*made = port;
	return 0;
}

/* Nobody uses the port, and its memory is mapped no more. */
void oxkp_port_close(struct oxkp_port *port)
{
	oxk_close(port->endpoint);
	oxkp_port_free(port);
}
