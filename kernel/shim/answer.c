// SPDX-License-Identifier: GPL-2.0
/*
 * answer.c: what the driver writes to sockets: answers to requests to send, so that the data of a
 * long message comes while its receiver computes. The core says what is written, and when.
 *
 * The process writes to the same stream. An answer is written with the socket locked, after a look
 * at the process's desk under that lock: a write of the process that comes later waits for it, and
 * one that has left the stream within a packet has said so before. All of an answer is written
 * before the lock is given up. If there is no memory for the rest of one, the connection is ended:
 * nobody could tell where the next packet begins.
 *
 * Writing may sleep, so it is done by a worker, for all sockets of a context.
 */
#include <linux/delay.h>
#include <linux/uio.h>
#include <net/tcp.h>

#include "o2g_shim.h"

/* Room that a socket has before an answer is begun. */
#define O2G_ANSWER_ROOM 4096
/* How soon a socket without room is tried again. */
#define O2G_ANSWER_AGAIN (HZ / 100 + 1)
/* How long the rest of an answer waits for memory. */
#define O2G_ANSWER_TRIES 200

/* The socket is locked. Answers of its are to be written. */
void o2g_answers_note(struct o2g_socket *socket)
{
	struct o2g_context *context = socket->context;
	bool any;

	spin_lock_bh(&context->lock);
	any = !context->closing && o2g_core_has_answer(context->core, socket->index);
	if (any && list_empty(&socket->answering)) {
		refcount_inc(&socket->references);
		list_add_tail(&socket->answering, &context->answers);
	}
	spin_unlock_bh(&context->lock);
	if (any)
		mod_delayed_work(system_unbound_wq, &context->answerer, 0);
}

static bool o2g_may_write(const struct sock *sk)
{
	return sk->sk_socket && !(sk->sk_shutdown & SEND_SHUTDOWN) && !sk->sk_err &&
	       (1 << sk->sk_state) & (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT);
}

/* The socket is locked and has room. Writes all, or ends the connection for good. */
static bool o2g_write_answer(struct sock *sk, u8 *answer)
{
	u32 written = 0, tries = 0;
	int n;

	while (written < O2G_ANSWER_BYTES) {
		struct kvec rest = { .iov_base = answer + written, .iov_len = O2G_ANSWER_BYTES - written };
		struct msghdr message = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };

		iov_iter_kvec(&message.msg_iter, WRITE, &rest, 1, rest.iov_len);
		n = tcp_sendmsg_locked(sk, &message, rest.iov_len);
		if (n > 0) {
			written += n;
			continue;
		}
		if (!written)
			return false;
		if (n != -EAGAIN || ++tries == O2G_ANSWER_TRIES) {
			/* What the process writes next would be taken for the rest. */
			sk->sk_shutdown |= SEND_SHUTDOWN;
			return false;
		}
		sk_flush_backlog(sk);
		msleep(1);
	}
	return true;
}

/* What became of the answers of a socket. */
enum o2g_answered {
	O2G_ANSWERED,      /* none is left, or none can be written any more */
	O2G_ANSWER_BUSY,   /* the process is within a packet, and will say when it no longer is */
	O2G_ANSWER_NO_ROOM,
};

/* The socket is locked. */
static enum o2g_answered o2g_answer(struct o2g_socket *socket)
{
	struct o2g_context *context = socket->context;
	struct sock *sk = socket->sk;
	u8 answer[O2G_ANSWER_BYTES];
	int error;

	for (;;) {
		if (socket->forgotten || !socket->hooked || !o2g_may_write(sk))
			return O2G_ANSWERED;
		if (sk_stream_wspace(sk) < O2G_ANSWER_ROOM)
			return O2G_ANSWER_NO_ROOM;
		spin_lock_bh(&context->lock);
		error = o2g_core_answer(context->core, socket->index, answer);
		spin_unlock_bh(&context->lock);
		if (error)
			return error == -EAGAIN ? O2G_ANSWER_BUSY : O2G_ANSWERED;
		if (!o2g_write_answer(sk, answer))
			return sk->sk_shutdown & SEND_SHUTDOWN ? O2G_ANSWERED : O2G_ANSWER_NO_ROOM;
		spin_lock_bh(&context->lock);
		o2g_core_answered(context->core, socket->index);
		spin_unlock_bh(&context->lock);
	}
}

/* Writes what can be written to a socket; true if that is to be tried again soon. */
static bool o2g_answer_socket(struct o2g_socket *socket)
{
	struct o2g_context *context = socket->context;
	enum o2g_answered answered;
	bool broken;

	lock_sock(socket->sk);
	broken = socket->sk->sk_shutdown & SEND_SHUTDOWN;
	answered = o2g_answer(socket);
	broken = !broken && answered == O2G_ANSWERED && socket->sk->sk_shutdown & SEND_SHUTDOWN;
	if (answered != O2G_ANSWERED) {
		spin_lock_bh(&context->lock);
		/* Someone else may have noted it meanwhile. */
		if (list_empty(&socket->answering) && !context->closing) {
			refcount_inc(&socket->references);
			list_add_tail(&socket->answering, &context->answers);
		}
		spin_unlock_bh(&context->lock);
	}
	release_sock(socket->sk);
	if (broken)
		tcp_abort(socket->sk, ENOMEM);
	return answered == O2G_ANSWER_NO_ROOM;
}

void o2g_answers_give(struct work_struct *work)
{
	struct o2g_context *context = container_of(to_delayed_work(work), struct o2g_context, answerer);
	struct o2g_socket *socket;
	bool again = false;
	LIST_HEAD(list);

	spin_lock_bh(&context->lock);
	list_splice_init(&context->answers, &list);
	while ((socket = list_first_entry_or_null(&list, struct o2g_socket, answering))) {
		list_del_init(&socket->answering);
		spin_unlock_bh(&context->lock);
		again |= o2g_answer_socket(socket);
		o2g_socket_put(socket);
		cond_resched();
		spin_lock_bh(&context->lock);
	}
	again &= !context->closing;
	spin_unlock_bh(&context->lock);
	if (again)
		mod_delayed_work(system_unbound_wq, &context->answerer, O2G_ANSWER_AGAIN);
}
