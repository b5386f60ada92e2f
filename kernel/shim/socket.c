// SPDX-License-Identifier: GPL-2.0
/*
 * socket.c: a TCP socket is registered, forgotten, or closed by its process. While it is registered its handlers for data and for changes of state are ours, and
 * so is the place of its upper layer protocol: nobody else can put handlers over ours (which would outlive the module), it
 * cannot become a listening socket, and TCP tells us when the connection is gone for good.
 *
 * Handlers are called and replaced with the socket locked.
 */
#include <linux/file.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>

#include "o2g_shim.h"

#define O2G_STATES (TCPF_ESTABLISHED | TCPF_FIN_WAIT1 | TCPF_FIN_WAIT2 | TCPF_CLOSE_WAIT)

static struct o2g_socket *o2g_socket_of(struct sock *sk)
{
	struct o2g_socket *socket;

	rcu_read_lock();
	socket = rcu_dereference_sk_user_data(sk);
	rcu_read_unlock();
	return socket;
}

static void o2g_read_in_softirq(struct o2g_socket *socket)
{
	struct o2g_run run = { .socket = socket, .softirq = true };

	if (!socket->in_thread)
		o2g_read(&run);
}

static void o2g_data_ready(struct sock *sk)
{
	struct o2g_socket *socket = o2g_socket_of(sk);

	if (socket)
		o2g_read_in_softirq(socket);
}

static void o2g_state_change(struct sock *sk)
{
	struct o2g_socket *socket = o2g_socket_of(sk);

	if (!socket)
		return;
	/* Who waits to write wants to hear of it, too. */
	socket->state_change(sk);
	o2g_read_in_softirq(socket);
}

static void o2g_restore(struct o2g_socket *socket)
{
	struct sock *sk = socket->sk;

	write_lock_bh(&sk->sk_callback_lock);
	rcu_assign_sk_user_data(sk, NULL);
	sk->sk_data_ready = socket->data_ready;
	sk->sk_state_change = socket->state_change;
	write_unlock_bh(&sk->sk_callback_lock);
	socket->hooked = false;
}

/* TCP destroys the connection, after a close by the process or by both ends. What it has not given us is lost with it. */
static void o2g_connection_gone(struct sock *sk)
{
	struct o2g_socket *socket = o2g_socket_of(sk);

	if (!socket)
		return;
	o2g_restore(socket);
	o2g_read_abandon(socket);
	if (!socket->in_thread) {
		o2g_read_end(socket);
		o2g_context_wake(socket->context);
	}
}

static struct tcp_ulp_ops o2g_upper_layer = {
	.name = "o2g",
	.owner = THIS_MODULE,
	.release = o2g_connection_gone,
};

/* The socket is locked. */
static int o2g_hook(struct o2g_socket *socket)
{
	struct sock *sk = socket->sk;
	struct inet_connection_sock *connection = inet_csk(sk);
	int error = 0;

	write_lock_bh(&sk->sk_callback_lock);
	if (o2g_socket_of(sk) || connection->icsk_ulp_ops) {
		error = -EBUSY;
	} else {
		socket->data_ready = sk->sk_data_ready;
		socket->state_change = sk->sk_state_change;
		/* Given back by TCP if the connection ends before it is forgotten. */
		__module_get(THIS_MODULE);
		connection->icsk_ulp_ops = &o2g_upper_layer;
		rcu_assign_sk_user_data(sk, socket);
		sk->sk_data_ready = o2g_data_ready;
		sk->sk_state_change = o2g_state_change;
		socket->hooked = true;
	}
	write_unlock_bh(&sk->sk_callback_lock);
	return error;
}

/* The socket is locked. */
static void o2g_unhook(struct o2g_socket *socket)
{
	if (!socket->hooked)
		return;
	o2g_restore(socket);
	inet_csk(socket->sk)->icsk_ulp_ops = NULL;
	module_put(THIS_MODULE);
	/* What was left unread is the process's again. */
	socket->sk->sk_data_ready(socket->sk);
}

void o2g_socket_put(struct o2g_socket *socket)
{
	if (!refcount_dec_and_test(&socket->references))
		return;
	sock_put(socket->sk);
	kvfree(socket->early);
	if (socket->charged_bytes)
		o2g_user_uncharge(socket->context->user, socket->charged_bytes);
	kfree(socket);
}

/* The context's requests are locked. */
static void o2g_forget(struct o2g_socket *socket)
{
	struct o2g_context *context = socket->context;
	bool was_queued, was_answering;

	lock_sock(socket->sk);
	o2g_unhook(socket);
	o2g_read_abandon(socket);
	spin_lock_bh(&context->lock);
	o2g_core_close_socket(context->core, socket->index);
	context->sockets[socket->index] = NULL;
	if (socket->waiting)
		context->n_waiting--;
	socket->waiting = false;
	was_queued = !list_empty(&socket->queued);
	list_del_init(&socket->queued);
	was_answering = !list_empty(&socket->answering);
	list_del_init(&socket->answering);
	spin_unlock_bh(&context->lock);
	socket->forgotten = true;
	release_sock(socket->sk);

	atomic64_dec(&context->n_sockets);
	atomic64_dec(&o2g_sockets_all);
	if (was_queued)
		o2g_socket_put(socket);
	if (was_answering)
		o2g_socket_put(socket);
	o2g_socket_put(socket);
}

int o2g_socket_forget(struct o2g_context *context, u32 rank)
{
	struct o2g_socket *socket = NULL;
	int index;

	spin_lock_bh(&context->lock);
	index = o2g_core_find_socket(context->core, rank);
	if (index >= 0)
		socket = context->sockets[index];
	spin_unlock_bh(&context->lock);
	if (!socket)
		return -ENOENT;
	o2g_forget(socket);
	o2g_context_wake(context);
	return 0;
}

void o2g_socket_forget_all(struct o2g_context *context)
{
	u32 index;

	for (index = 0; index < context->n_socks; index++)
		if (context->sockets[index])
			o2g_forget(context->sockets[index]);
}

/* The socket is locked, and everything about it that can be said without the core is known. */
static int o2g_open(struct o2g_socket *socket, u32 rank, u32 desk)
{
	struct o2g_context *context = socket->context;
	int error, index;

	if (!((1 << socket->sk->sk_state) & O2G_STATES))
		return -ENOTCONN;
	spin_lock_bh(&context->lock);
	index = o2g_core_open_socket(context->core, rank, desk);
	spin_unlock_bh(&context->lock);
	if (index < 0)
		return index;
	socket->index = index;
	error = o2g_hook(socket);
	spin_lock_bh(&context->lock);
	if (error)
		o2g_core_close_socket(context->core, index);
	else
		context->sockets[index] = socket;
	spin_unlock_bh(&context->lock);
	return error;
}

static int o2g_read_argument(struct o2g_socket *socket, const struct o2g_register *wanted)
{
	int error;

	if (!wanted->early_bytes)
		return 0;
	if (wanted->early_bytes > O2G_EARLY_BYTES_MAX)
		return -EINVAL;
	/* A socket may be closed and its bytes still be here, so descriptors do not limit them. */
	error = o2g_user_charge(socket->context->user, wanted->early_bytes);
	if (error)
		return error;
	socket->charged_bytes = wanted->early_bytes;
	socket->early = kvmalloc(wanted->early_bytes, GFP_KERNEL_ACCOUNT);
	if (!socket->early)
		return -ENOMEM;
	socket->early_bytes = wanted->early_bytes;
	if (copy_from_user(socket->early, u64_to_user_ptr(wanted->early), wanted->early_bytes))
		return -EFAULT;
	return 0;
}

/* The context's requests are locked. Takes over a reference of `sk`. */
static int o2g_register_sock(struct o2g_context *context, const struct o2g_register *wanted, struct sock *sk)
{
	struct o2g_socket *socket = kzalloc(sizeof(*socket), GFP_KERNEL_ACCOUNT);
	struct o2g_run run = { .socket = socket, .has_mm = true };
	int error;

	if (!socket) {
		sock_put(sk);
		return -ENOMEM;
	}
	refcount_set(&socket->references, 1);
	INIT_LIST_HEAD(&socket->queued);
	INIT_LIST_HEAD(&socket->answering);
	socket->context = context;
	socket->sk = sk;
	error = o2g_read_argument(socket, wanted);
	if (!error) {
		lock_sock(sk);
		error = o2g_open(socket, wanted->rank, wanted->desk);
		if (!error) {
			atomic64_inc(&context->n_sockets);
			atomic64_inc(&o2g_sockets_all);
			/* What came before the handlers were ours does not call them. */
			o2g_read(&run);
			if (run.what == O2G_RUN_FAULT)
				o2g_dumpers_queue(socket);
		}
		release_sock(sk);
	}
	if (error)
		o2g_socket_put(socket);
	return error;
}

int o2g_socket_register(struct o2g_context *context, const struct o2g_register *wanted)
{
	struct socket *file_socket;
	struct sock *sk;
	int error = 0;

	file_socket = sockfd_lookup(wanted->fd, &error);
	if (!file_socket)
		return error;
	sk = file_socket->sk;
	if (!sk || sk->sk_type != SOCK_STREAM || sk->sk_protocol != IPPROTO_TCP ||
	    (sk->sk_family != AF_INET && sk->sk_family != AF_INET6)) {
		error = -EOPNOTSUPP;
	} else {
		sock_hold(sk);
		error = o2g_register_sock(context, wanted, sk);
	}
	sockfd_put(file_socket);
	return error;
}
