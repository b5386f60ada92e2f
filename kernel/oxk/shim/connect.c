// SPDX-License-Identifier: GPL-2.0
/*
 * connect.c: dialling, listening, and the handshake that both begin with. Each handshake has a work
 * item, which may sleep, and OXK_HANDSHAKE_MS; before the other side has proved that it knows the
 * key, nothing but the handshake's own few bytes is read of it.
 */
#include <linux/delay.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/random.h>
#include <net/tcp.h>

#include "oxk_shim.h"

/* An address that TCP has, and all of it. It may come from a program, and a socket of another
 * protocol is no TCP's. */
bool oxk_is_address(const struct sockaddr *address, int bytes)
{
	if (bytes < (int)sizeof(sa_family_t) || bytes > (int)sizeof(struct sockaddr_storage))
		return false;
	switch (address->sa_family) {
	case AF_INET:
		return bytes >= (int)sizeof(struct sockaddr_in);
	case AF_INET6:
		return bytes >= (int)sizeof(struct sockaddr_in6);
	}
	return false;
}

/* Everything that an endpoint's sockets have in common. */
static void oxk_prepare(struct sock *sk)
{
	tcp_sock_set_nodelay(sk);
	sock_set_keepalive(sk);
	tcp_sock_set_keepidle(sk, OXK_SILENCE_SECONDS);
	tcp_sock_set_keepintvl(sk, OXK_SILENCE_SECONDS / OXK_SILENCE_PROBES);
	tcp_sock_set_keepcnt(sk, OXK_SILENCE_PROBES);
	tcp_sock_set_user_timeout(sk, 2 * OXK_SILENCE_SECONDS * 1000);
	lock_sock(sk);
	/* In a work item that may be needed to write pages out. */
	sk->sk_allocation = GFP_NOIO;
	release_sock(sk);
}

/* A socket that keeps its namespace, also when TCP still has it after its release. */
static int oxk_socket_new(struct net *net, int family, struct socket **made)
{
	return __sock_create(net, family, SOCK_STREAM, IPPROTO_TCP, made, 0);
}

int oxk_send_all(struct socket *socket, const u8 *data, u32 bytes)
{
	struct msghdr message = { .msg_flags = MSG_NOSIGNAL };
	struct kvec vector = { .iov_base = (void *)data, .iov_len = bytes };
	int sent = bytes ? kernel_sendmsg(socket, &message, &vector, 1, bytes) : 0;

	if (sent < 0)
		return sent;
	return sent == bytes ? 0 : -ETIMEDOUT;
}

/* Both sides' part until the other one is proven. `total` bytes are read, and `first` of them
 * before anything is answered. */
static int oxk_shake(struct socket *socket, struct oxk_handshake *handshake,
		     struct oxk_handshake_step *step, u32 first, u32 total)
{
	unsigned long until = jiffies + msecs_to_jiffies(OXK_HANDSHAKE_MS);
	struct msghdr message = {};
	u8 bytes[OXK_CHALLENGE_BYTES];
	struct kvec vector;
	u32 read = 0;
	int n, error;

	for (;;) {
		long left = until - jiffies;

		error = oxk_send_all(socket, step->send, step->send_bytes);
		if (error)
			return error;
		if (step->what)
			return step->what < 0 ? step->what : 0;
		if (left <= 0 || read == total)
			return -ETIMEDOUT;
		socket->sk->sk_rcvtimeo = left;
		vector.iov_base = bytes;
		vector.iov_len = min_t(u32, sizeof(bytes), (read < first ? first : total) - read);
		n = kernel_recvmsg(socket, &message, &vector, 1, vector.iov_len, 0);
		if (n <= 0)
			return n == -EAGAIN ? -ETIMEDOUT : n ?: -ECONNRESET;
		read += n;
		oxk_handshake_take(handshake, bytes, n, step);
	}
}

static int oxk_dial(struct oxk_link *link, struct socket *socket)
{
	struct oxk_handshake_step step;
	struct oxk_handshake handshake;
	u8 nonce[16];
	int error;

	oxk_prepare(socket->sk);
	socket->sk->sk_sndtimeo = msecs_to_jiffies(OXK_HANDSHAKE_MS);
	error = kernel_connect(socket, (struct sockaddr *)&link->address, link->address_bytes, 0);
	if (error == -EINPROGRESS || error == -EAGAIN)
		error = -ETIMEDOUT;
	if (error)
		return error;
	get_random_bytes(nonce, sizeof(nonce));
	oxk_handshake_dial(&handshake, link->endpoint->key, nonce, &step);
	error = oxk_shake(socket, &handshake, &step, OXK_CHALLENGE_BYTES, OXK_DIALLER_BYTES);
	if (!error && link->endpoint->port)
		error = oxk_pm_greet(link, socket, true);
	return error;
}

void oxk_dial_work(struct work_struct *work)
{
	struct oxk_link *link = container_of(work, struct oxk_link, dial);
	struct socket *socket;
	int error;

	mutex_lock(&link->dialling);
	error = READ_ONCE(link->lost) ? -ESHUTDOWN : 0;
	if (!error)
		error = oxk_socket_new(link->endpoint->net, link->address.ss_family, &socket);
	if (!error)
		link->socket = socket;
	mutex_unlock(&link->dialling);
	if (!error)
		error = oxk_dial(link, socket);
	if (!error)
		error = oxk_link_up(link);
	if (error)
		oxk_lose(link, error);
}

/* The dialling, or the admission, ends at once. Its link is lost. */
void oxk_dial_stop(struct oxk_link *link)
{
	if (cancel_work(&link->dial))
		return;
	mutex_lock(&link->dialling);
	if (link->socket && !link->hooked)
		kernel_sock_shutdown(link->socket, SHUT_RDWR);
	mutex_unlock(&link->dialling);
	cancel_work_sync(&link->dial);
}

int oxk_connect(struct oxk_endpoint *endpoint, const struct sockaddr *address, int bytes,
		oxk_peer_t *peer)
{
	struct oxk_link *link;

	if (!oxk_is_address(address, bytes))
		return -EINVAL;
	return oxk_link_begin(endpoint, address, bytes, &link, peer);
}
EXPORT_SYMBOL_GPL(oxk_connect);

/* He is proven: a peer, if there is a place for one. */
static int oxk_admit(struct oxk_stranger *stranger, struct socket *socket)
{
	struct oxk_endpoint *endpoint = stranger->endpoint;
	struct oxk_handshake_step step;
	struct oxk_link *link = NULL;
	u64 peer;
	int error = oxk_link_begin(endpoint, NULL, 0, &link, &peer), told;

	oxk_handshake_verdict(&stranger->handshake, !error, &step);
	if (link) {
		mutex_lock(&link->dialling);
		link->socket = socket;
		mutex_unlock(&link->dialling);
	}
	told = oxk_send_all(socket, step.send, step.send_bytes);
	if (error)
		return error;
	if (!told && endpoint->port)
		told = oxk_pm_greet(link, socket, false);
	if (!told)
		told = oxk_link_up(link);
	if (told)
		oxk_lose(link, told);
	/* The last: the end of a link that is lost meanwhile waits for it before it has the socket. */
	spin_lock_bh(&endpoint->lock);
	smp_store_release(&link->admitting, false);
	wake_up(&link->idle);
	spin_unlock_bh(&endpoint->lock);
	return 0;
}

static void oxk_stranger_work(struct work_struct *work)
{
	struct oxk_stranger *stranger = container_of(work, struct oxk_stranger, work);
	struct oxk_endpoint *endpoint = stranger->endpoint;
	struct socket *socket = stranger->socket;
	struct oxk_handshake_step step = {};
	u8 nonce[16];
	int error;

	oxk_prepare(socket->sk);
	socket->sk->sk_sndtimeo = msecs_to_jiffies(OXK_HANDSHAKE_MS);
	get_random_bytes(nonce, sizeof(nonce));
	oxk_handshake_answer(&stranger->handshake, endpoint->key, nonce);
	error = oxk_shake(socket, &stranger->handshake, &step, OXK_ANSWERER_BYTES / 2,
			  OXK_ANSWERER_BYTES);
	mutex_lock(&endpoint->strangers_lock);
	stranger->socket = NULL;
	mutex_unlock(&endpoint->strangers_lock);
	if (error)
		oxk_add(endpoint, strangers, 1);
	else
		error = oxk_admit(stranger, socket);
	if (error)
		sock_release(socket);
	mutex_lock(&endpoint->strangers_lock);
	stranger->busy = false;
	mutex_unlock(&endpoint->strangers_lock);
	if (!READ_ONCE(endpoint->closing))
		queue_work(endpoint->strange, &endpoint->accept);
}

/* A place for the next that connects. */
static struct oxk_stranger *oxk_stranger_new(struct oxk_endpoint *endpoint)
{
	struct oxk_stranger *stranger;
	int i;

	for (i = 0; i < OXK_STRANGERS_MAX; i++) {
		stranger = &endpoint->strangers[i];
		if (!stranger->busy)
			return stranger;
	}
	return NULL;
}

/* Accepts one; false if there is none, or no place. */
static bool oxk_accept(struct oxk_endpoint *endpoint)
{
	struct oxk_stranger *stranger;
	struct socket *socket;
	int error = -EAGAIN;

	mutex_lock(&endpoint->strangers_lock);
	stranger = oxk_stranger_new(endpoint);
	if (stranger && !READ_ONCE(endpoint->closing))
		error = kernel_accept(endpoint->listener, &socket, O_NONBLOCK);
	if (!error) {
		/* It has the listener's handler. */
		write_lock_bh(&socket->sk->sk_callback_lock);
		socket->sk->sk_data_ready = endpoint->data_ready;
		socket->sk->sk_user_data = NULL;
		write_unlock_bh(&socket->sk->sk_callback_lock);
		stranger->busy = true;
		stranger->socket = socket;
		queue_work(endpoint->strange, &stranger->work);
	}
	mutex_unlock(&endpoint->strangers_lock);
	/* Who has connected waits in the queue, and nothing will tell of him again. */
	if (error == -ENOMEM)
		msleep(OXK_MEMORY_PAUSE_MS);
	return !error || error == -ENOMEM;
}

static void oxk_accept_work(struct work_struct *work)
{
	struct oxk_endpoint *endpoint = container_of(work, struct oxk_endpoint, accept);

	while (oxk_accept(endpoint))
		;
}

/* Of the listener, and of connections that wait to be accepted. */
static void oxk_listener_ready(struct sock *sk)
{
	struct oxk_endpoint *endpoint;

	read_lock_bh(&sk->sk_callback_lock);
	endpoint = sk->sk_user_data;
	if (endpoint && !READ_ONCE(endpoint->closing))
		queue_work(endpoint->strange, &endpoint->accept);
	read_unlock_bh(&sk->sk_callback_lock);
}

int oxk_listen(struct oxk_endpoint *endpoint, const struct sockaddr *address, int bytes)
{
	struct socket *socket;
	struct sock *sk;
	int error = oxk_socket_new(endpoint->net, address->sa_family, &socket);

	if (error)
		return error;
	sk = socket->sk;
	endpoint->listener = socket;
	sock_set_reuseaddr(sk);
	error = kernel_bind(socket, (struct sockaddr *)address, bytes);
	if (error)
		return error;
	write_lock_bh(&sk->sk_callback_lock);
	endpoint->data_ready = sk->sk_data_ready;
	sk->sk_user_data = endpoint;
	sk->sk_data_ready = oxk_listener_ready;
	write_unlock_bh(&sk->sk_callback_lock);
	return kernel_listen(socket, SOMAXCONN);
}

/* The endpoint is closing. Nobody connects any more, and who was about to has been turned away. */
void oxk_listen_stop(struct oxk_endpoint *endpoint)
{
	struct oxk_stranger *stranger;
	int i;

	if (!endpoint->listener)
		return;
	cancel_work_sync(&endpoint->accept);
	write_lock_bh(&endpoint->listener->sk->sk_callback_lock);
	if (endpoint->data_ready)
		endpoint->listener->sk->sk_data_ready = endpoint->data_ready;
	endpoint->listener->sk->sk_user_data = NULL;
	write_unlock_bh(&endpoint->listener->sk->sk_callback_lock);
	/* Those that wait to be accepted end with it. */
	sock_release(endpoint->listener);
	cancel_work_sync(&endpoint->accept);
	for (i = 0; i < OXK_STRANGERS_MAX; i++) {
		stranger = &endpoint->strangers[i];
		mutex_lock(&endpoint->strangers_lock);
		if (stranger->socket)
			kernel_sock_shutdown(stranger->socket, SHUT_RDWR);
		mutex_unlock(&endpoint->strangers_lock);
		flush_work(&stranger->work);
	}
}

void oxk_strangers_init(struct oxk_endpoint *endpoint)
{
	int i;

	mutex_init(&endpoint->strangers_lock);
	INIT_WORK(&endpoint->accept, oxk_accept_work);
	for (i = 0; i < OXK_STRANGERS_MAX; i++) {
		endpoint->strangers[i].endpoint = endpoint;
		INIT_WORK(&endpoint->strangers[i].work, oxk_stranger_work);
	}
}
