// SPDX-License-Identifier: GPL-2.0
/*
 * dumper.c: the threads that read where the protocol handler cannot: more than it should copy in one go, and memory that is not pinned. A socket is with
 * at most one of them (o2g_socket.in_thread), so its bytes stay in order.
 *
 * A thread faults memory in with no lock held. That may take as long as the process likes (userfaultfd), so closing a context
 * waits for its threads only for a while; each has references to all it needs.
 */
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>

#include "o2g_shim.h"

#define O2G_GOODBYE_SECONDS 2

/* The socket is locked. */
void o2g_dumpers_queue(struct o2g_socket *socket)
{
	struct o2g_context *context = socket->context;

	spin_lock_bh(&context->lock);
	socket->in_thread = true;
	if (list_empty(&socket->queued) && !context->closing) {
		refcount_inc(&socket->references);
		list_add_tail(&socket->queued, &context->queue);
	}
	spin_unlock_bh(&context->lock);
	wake_up(&context->dumpers);
}

/* There is room in the dump area: sockets that wait for it go on, in threads. No lock is held. */
void o2g_dumpers_resume(struct o2g_context *context)
{
	struct o2g_socket *socket;
	bool any = false;
	u32 index;

	spin_lock_bh(&context->lock);
	for (index = 0; context->n_waiting && index < context->n_socks; index++) {
		socket = context->sockets[index];
		if (!socket || !socket->waiting)
			continue;
		socket->waiting = false;
		context->n_waiting--;
		if (list_empty(&socket->queued) && !context->closing) {
			refcount_inc(&socket->references);
			list_add_tail(&socket->queued, &context->queue);
			any = true;
		}
	}
	spin_unlock_bh(&context->lock);
	if (any)
		wake_up_all(&context->dumpers);
}

static struct o2g_socket *o2g_next(struct o2g_context *context)
{
	struct o2g_socket *socket;

	spin_lock_bh(&context->lock);
	socket = list_first_entry_or_null(&context->queue, struct o2g_socket, queued);
	if (socket)
		list_del_init(&socket->queued);
	spin_unlock_bh(&context->lock);
	return socket;
}

/* One run; true if the memory at `*address` is to be faulted in for the step. */
static bool o2g_dump_once(struct o2g_run *run, void __user **address, struct o2g_step *step)
{
	struct o2g_socket *socket = run->socket;
	struct o2g_memory *memory;
	bool fault = false;

	lock_sock(socket->sk);
	if (!socket->forgotten) {
		/* Of one that waited for room nobody knows yet that it is here. */
		socket->in_thread = true;
		o2g_read(run);
		fault = run->what == O2G_RUN_FAULT;
		if (fault) {
			*step = socket->step;
			memory = socket->context->memories[step->slot];
			*address = u64_to_user_ptr(memory->address + step->offset);
		} else if (run->what != O2G_STEP_THREAD) {
			socket->in_thread = false;
		}
		/* From here on the handlers read again, beginning with what came meanwhile. */
	}
	release_sock(socket->sk);
	return fault;
}

static void o2g_dump(struct o2g_socket *socket)
{
	struct mm_struct *mm = socket->context->mm;
	struct o2g_run run = { .socket = socket, .has_mm = mmget_not_zero(mm) };
	struct o2g_step step;
	void __user *address;

	if (run.has_mm)
		kthread_use_mm(mm);
	while (o2g_dump_once(&run, &address, &step)) {
		if (!fault_in_safe_writeable(address, step.bytes))
			continue;
		lock_sock(socket->sk);
		/* Nobody held the socket meanwhile: it may be about another one. */
		if (socket->step.bytes && socket->step.cookie == step.cookie && socket->step.offset == step.offset)
			socket->step_error = EFAULT;
		release_sock(socket->sk);
	}
	if (run.has_mm) {
		kthread_unuse_mm(mm);
		mmput(mm);
	}
}

static int o2g_dumper(void *argument)
{
	struct o2g_context *context = argument;
	struct o2g_socket *socket;

	while (!READ_ONCE(context->closing)) {
		wait_event_idle_exclusive(context->dumpers, !list_empty(&context->queue) || READ_ONCE(context->closing));
		socket = o2g_next(context);
		if (!socket)
			continue;
		o2g_dump(socket);
		o2g_socket_put(socket);
		o2g_memory_reap(context);
	}
	o2g_user_remove_dumper(context->user);
	if (atomic_dec_and_test(&context->n_dumpers_alive))
		complete(&context->dumpers_gone);
	o2g_context_put(context);
	module_put_and_kthread_exit(0);
}

/* The context's requests are locked. `n` threads in all; there are never fewer than before. */
int o2g_dumpers_start(struct o2g_context *context, u32 n)
{
	struct task_struct *thread;
	int error;

	if (!n || n > O2G_DUMPERS_MAX)
		return -EINVAL;
	while (context->n_dumpers < n) {
		error = o2g_user_add_dumper(context->user);
		if (error)
			return error;
		refcount_inc(&context->references);
		atomic_inc(&context->n_dumpers_alive);
		__module_get(THIS_MODULE);
		thread = kthread_run(o2g_dumper, context, "o2g/%d/%u", current->tgid, context->n_dumpers);
		if (IS_ERR(thread)) {
			module_put(THIS_MODULE);
			o2g_user_remove_dumper(context->user);
			atomic_dec(&context->n_dumpers_alive);
			refcount_dec(&context->references);
			return PTR_ERR(thread);
		}
		context->n_dumpers++;
	}
	return 0;
}

/* No socket is left, so all they do is to end. */
void o2g_dumpers_stop(struct o2g_context *context)
{
	spin_lock_bh(&context->lock);
	WRITE_ONCE(context->closing, true);
	spin_unlock_bh(&context->lock);
	wake_up_all(&context->dumpers);
	if (atomic_read(&context->n_dumpers_alive))
		wait_for_completion_timeout(&context->dumpers_gone, O2G_GOODBYE_SECONDS * HZ);
}
