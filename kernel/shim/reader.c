// SPDX-License-Identifier: GPL-2.0
/*
 * reader.c: a run of the reader takes what a socket has, gives it to the core, and copies payload where the core says. In a softirq it is called by the
 * handlers of socket.c, in a thread by dumper.c and at registration; the socket is locked in all cases, and the bytes
 * of a socket are read in their order whoever does it.
 *
 * Copying to an entry's memory is done without the context's lock: the core does not release the
 * entry of a step before it is told what became of the step. A step that is left over from another
 * run is asked about first, and the memory has to be the entry's.
 */
#include <linux/slab.h>

#include "o2g_shim.h"

/* The context is locked, so a request that makes room comes before or after, but not in between. */
static void o2g_wait_for_room(struct o2g_socket *socket)
{
	if (socket->waiting)
		return;
	socket->waiting = true;
	socket->context->n_waiting++;
}

/* Places bytes of the socket's step; false if its memory has to be faulted in first. */
static bool o2g_place(struct o2g_run *run, const u8 *data, u32 bytes)
{
	struct o2g_socket *socket = run->socket;
	struct o2g_step *step = &socket->step;
	struct o2g_memory *memory = READ_ONCE(socket->context->memories[step->slot]);
	int error = 0;

	if (WARN_ON_ONCE(!memory || memory->cookie != step->cookie))
		error = -EFAULT;
	else if (!socket->step_error)
		error = o2g_memory_write(memory, step->offset, data, bytes, run->has_mm);
	if (error == -EAGAIN)
		return false;
	if (error)
		socket->step_error = -error;
	step->offset += bytes;
	step->bytes -= bytes;
	return true;
}

/* Gives a step up that is left over from another run, if its entry is not the socket's any more. */
static void o2g_check_step(struct o2g_socket *socket)
{
	struct o2g_context *context = socket->context;
	bool is_placing;

	if (!socket->step.bytes)
		return;
	spin_lock_bh(&context->lock);
	is_placing = o2g_core_is_placing(context->core, socket->index, socket->step.cookie);
	spin_unlock_bh(&context->lock);
	if (WARN_ON_ONCE(!is_placing)) {
		socket->step.bytes = 0;
		socket->step_error = 0;
	}
}

/* Gives bytes to the core; how many were used. */
static u32 o2g_feed(struct o2g_run *run, const u8 *data, u32 bytes)
{
	struct o2g_socket *socket = run->socket;
	struct o2g_context *context = socket->context;
	struct o2g_step *step = &socket->step;
	u32 used = 0, n;

	for (;;) {
		if (!step->bytes) {
			spin_lock_bh(&context->lock);
			o2g_core_feed(context->core, socket->index, data + used, bytes - used, step);
			if (step->what == O2G_STEP_STOP)
				o2g_wait_for_room(socket);
			spin_unlock_bh(&context->lock);
			used += step->consumed;
			if (step->what != O2G_STEP_PLACE) {
				step->bytes = 0;
				run->what = step->what;
				return used;
			}
		}
		n = min(step->bytes, bytes - used);
		if (!o2g_place(run, data + used, n)) {
			run->what = O2G_RUN_FAULT;
			return used;
		}
		used += n;
		/* A step that was left may have been made for a longer piece. */
		if (step->bytes)
			return used;
		spin_lock_bh(&context->lock);
		o2g_core_placed(context->core, socket->index, socket->step_error);
		spin_unlock_bh(&context->lock);
		socket->step_error = 0;
	}
}

static u32 o2g_feed_piece(struct ox_reader *reader, const u8 *data, u32 bytes)
{
	struct o2g_run *run = container_of(reader, struct o2g_run, reader);
	u32 used = o2g_feed(run, data, bytes);

	reader->stopped = run->what != O2G_STEP_DONE;
	return used;
}

static void o2g_read_early(struct o2g_run *run)
{
	struct o2g_socket *socket = run->socket;

	socket->early_at += o2g_feed(run, socket->early + socket->early_at, socket->early_bytes - socket->early_at);
	if (socket->early_at < socket->early_bytes)
		return;
	kvfree(socket->early);
	socket->early = NULL;
}

/* Tells the core that the stream has ended, or has it asked again when there is room. It lets the
 * entries of the socket go then, so the step is given up before: the process may have read away
 * what it was made for. */
void o2g_read_end(struct o2g_socket *socket)
{
	struct o2g_context *context = socket->context;

	if (socket->ended)
		return;
	o2g_read_abandon(socket);
	spin_lock_bh(&context->lock);
	if (o2g_core_end(context->core, socket->index, abs(READ_ONCE(socket->sk->sk_err))))
		o2g_wait_for_room(socket);
	else
		socket->ended = true;
	spin_unlock_bh(&context->lock);
}

/* The bytes that a step was made for will not come any more. */
void o2g_read_abandon(struct o2g_socket *socket)
{
	struct o2g_context *context = socket->context;

	if (!socket->step.bytes)
		return;
	socket->step.bytes = 0;
	spin_lock_bh(&context->lock);
	o2g_core_placed(context->core, socket->index, ECONNRESET);
	spin_unlock_bh(&context->lock);
	socket->step_error = 0;
}

/* Reads all there is. Who wanted to know what came of it is told; what a softirq cannot do is given to a thread. */
void o2g_read(struct o2g_run *run)
{
	struct o2g_socket *socket = run->socket;
	struct o2g_context *context = socket->context;

	run->what = O2G_STEP_DONE;
	run->reader = (struct ox_reader){ .feed = o2g_feed_piece };
	o2g_check_step(socket);
	if (!socket->step.bytes) {
		spin_lock_bh(&context->lock);
		o2g_core_begin(context->core, socket->index, run->softirq);
		spin_unlock_bh(&context->lock);
	}
	if (socket->early)
		o2g_read_early(run);
	if (run->what == O2G_STEP_DONE && socket->hooked)
		ox_read_socket(socket->sk, &run->reader);
	switch (run->what) {
	case O2G_STEP_DONE:
	case O2G_STEP_BROKEN:
		if (!socket->hooked || ox_socket_has_ended(socket->sk))
			o2g_read_end(socket);
		break;
	case O2G_STEP_THREAD:
		o2g_dumpers_queue(socket);
		break;
	}
	o2g_context_wake(context);
	/* Pages are not kept longer than that by a process that has nothing more to ask. */
	if (atomic64_read(&context->pages_pinned))
		schedule_delayed_work(&context->reaper, HZ / 10);
}
