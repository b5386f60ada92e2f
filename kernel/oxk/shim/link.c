// SPDX-License-Identifier: GPL-2.0
/*
 * link.c: the life of a connection with a peer. It begins in connect.c, is up after the handshake,
 * and is lost once: by the peer, by an error, by a close. Whoever notices tells the core and leaves
 * the rest to the work item `end`, which waits until no memory of a caller is in use, calls
 * peer_lost and vacates the place.
 */
#include <net/tcp.h>

#include "oxk_shim.h"

void oxk_link_init(struct oxk_endpoint *endpoint, struct oxk_link *link)
{
	link->endpoint = endpoint;
	mutex_init(&link->dialling);
	init_waitqueue_head(&link->idle);
	INIT_LIST_HEAD(&link->wanted);
	INIT_WORK(&link->dial, oxk_dial_work);
	INIT_WORK(&link->send, oxk_send_work);
	INIT_WORK(&link->read, oxk_read_work);
	INIT_WORK(&link->end, oxk_end_work);
	oxk_flights_init(link);
}

/* A place for a peer that has connected, or that is dialled at an address: 0, -EAGAIN or
 * -ESHUTDOWN. */
int oxk_link_begin(struct oxk_endpoint *endpoint, const struct sockaddr *address, int bytes,
		   struct oxk_link **place, u64 *peer)
{
	struct oxk_link *link;
	int error;

	spin_lock_bh(&endpoint->lock);
	error = oxk_core_admit(endpoint->core, !address, peer);
	if (!error) {
		link = &endpoint->links[(u32)*peer];
		link->peer = *peer;
		link->lost = false;
		link->error = 0;
		link->starved = false;
		link->stopped = false;
		link->in_thread = false;
		link->admitting = !address;
		endpoint->n_links++;
		*place = link;
		/* A close that comes now waits for it. */
		if (address) {
			memcpy(&link->address, address, bytes);
			link->address_bytes = bytes;
			queue_work(endpoint->slow, &link->dial);
		}
	}
	spin_unlock_bh(&endpoint->lock);
	return error;
}

/* Its socket has come through the handshake. */
int oxk_link_up(struct oxk_link *link)
{
	struct oxk_endpoint *endpoint = link->endpoint;
	int error;

	spin_lock_bh(&endpoint->lock);
	error = link->lost ? link->error : oxk_core_connected(endpoint->core, link->peer);
	spin_unlock_bh(&endpoint->lock);
	if (error)
		return error;
	oxk_hook(link);
	queue_work(endpoint->queue, &link->send);
	return 0;
}

/* The endpoint is locked. */
void oxk_lose_locked(struct oxk_link *link, int error)
{
	struct oxk_endpoint *endpoint = link->endpoint;

	if (link->lost)
		return;
	WRITE_ONCE(link->lost, true);
	link->error = error;
	oxk_core_lost(endpoint->core, link->peer, -error);
	queue_work(endpoint->slow, &link->end);
}

/* The socket may be locked, the endpoint is not. */
void oxk_lose(struct oxk_link *link, int error)
{
	struct oxk_endpoint *endpoint = link->endpoint;

	spin_lock_bh(&endpoint->lock);
	oxk_lose_locked(link, error);
	spin_unlock_bh(&endpoint->lock);
	oxk_settle(endpoint);
}

/* The same by name, for who does not know whether the place has another peer by now. */
void oxk_lose_peer(struct oxk_endpoint *endpoint, u64 peer, int error)
{
	struct oxk_link *link;

	spin_lock_bh(&endpoint->lock);
	link = oxk_link_of(endpoint, peer);
	if (link)
		oxk_lose_locked(link, error);
	spin_unlock_bh(&endpoint->lock);
	oxk_settle(endpoint);
}

/* Says goodbye, if the peer is not in the middle of a packet. */
static void oxk_say_goodbye(struct oxk_link *link)
{
	struct msghdr message = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	__le32 goodbye = cpu_to_le32(U32_MAX);
	struct kvec bytes = { .iov_base = &goodbye, .iov_len = sizeof(goodbye) };

	if (link->is_sending && link->written)
		return;
	kernel_sendmsg(link->socket, &message, &bytes, 1, sizeof(goodbye));
	kernel_sock_shutdown(link->socket, SHUT_WR);
}

/* Every byte has been acknowledged, or there is no connection. */
static bool oxk_is_acknowledged(struct oxk_link *link)
{
	struct sock *sk = link->socket->sk;
	bool is;

	lock_sock(sk);
	is = sk->sk_state == TCP_CLOSE ||
	     READ_ONCE(tcp_sk(sk)->snd_una) == READ_ONCE(tcp_sk(sk)->write_seq);
	release_sock(sk);
	return is;
}

static void oxk_close_socket(struct oxk_link *link)
{
	unsigned long until = jiffies + msecs_to_jiffies(OXK_GOODBYE_MS);

	oxk_unhook(link);
	cancel_work_sync(&link->send);
	cancel_work_sync(&link->read);
	if (link->endpoint->port) {
		while (link->error == -ESHUTDOWN && !oxk_pm_is_done(link) &&
		       time_before(jiffies, until))
			schedule_timeout_uninterruptible(1);
		oxk_pm_stop(link);
	} else if (link->error == -ESHUTDOWN) {
		oxk_say_goodbye(link);
		/* What has been sent is to arrive; a peer that does not take it is not waited for.
		 */
		while (!oxk_is_acknowledged(link) && time_before(jiffies, until))
			schedule_timeout_uninterruptible(1);
	}
	oxk_send_abandon(link);
	if (READ_ONCE(link->n_flying))
		wait_event_timeout(link->idle, !READ_ONCE(link->n_flying),
				   link->error == -ESHUTDOWN);
	/* TCP lets go of what it has not sent. */
	if (READ_ONCE(link->n_flying) || link->error != -ESHUTDOWN)
		sock_no_linger(link->socket->sk);
	sock_release(link->socket);
	link->socket = NULL;
	wait_event(link->idle, !READ_ONCE(link->n_flying));
}

static bool oxk_is_calling(struct oxk_link *link)
{
	bool is;

	spin_lock_bh(&link->endpoint->lock);
	is = link->n_calling || link->n_flying;
	spin_unlock_bh(&link->endpoint->lock);
	return is;
}

void oxk_end_work(struct work_struct *work)
{
	struct oxk_link *link = container_of(work, struct oxk_link, end);
	struct oxk_endpoint *endpoint = link->endpoint;
	int error;

	oxk_dial_stop(link);
	wait_event(link->idle, !smp_load_acquire(&link->admitting));
	if (link->socket)
		oxk_close_socket(link);
	oxk_settle(endpoint);
	flush_work(&endpoint->finish);
	wait_event(link->idle, !oxk_is_calling(link));
	if (endpoint->params.peer_lost)
		endpoint->params.peer_lost(endpoint, link->peer, link->error,
					   endpoint->params.context);
	spin_lock_bh(&endpoint->lock);
	error = oxk_core_forget(endpoint->core, link->peer);
	WARN_ON_ONCE(error);
	link->peer = OXK_NO_PEER;
	if (!--endpoint->n_links)
		wake_up(&endpoint->idle);
	spin_unlock_bh(&endpoint->lock);
}
