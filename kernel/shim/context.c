// SPDX-License-Identifier: GPL-2.0
/*
 * context.c: the life of a context: made by open, given its size by init and its memory by set_dump_area, closed with the last reference to the open file (which
 * a mapping is, too). Whatever ends the process ends here: close, exit, a signal.
 */
#include <linux/module.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "../runtime/memory.h"
#include "o2g_shim.h"

static void o2g_reap_later(struct work_struct *work)
{
	o2g_memory_reap(container_of(to_delayed_work(work), struct o2g_context, reaper));
}

/* Entries that were still waiting. Nobody places anything any more. */
static void o2g_free_memories(struct o2g_context *context)
{
	u32 slot;

	for (slot = 0; slot < context->n_entries; slot++) {
		if (context->memories[slot])
			context->memories[slot]->next = NULL;
		o2g_memory_free(context, context->memories[slot]);
		context->memories[slot] = NULL;
	}
}

/* No message is received any more, and nobody can change that: the file is closed, or its process
 * has ended. */
static void o2g_context_end(struct o2g_context *context)
{
	mutex_lock(&context->requests);
	o2g_socket_forget_all(context);
	o2g_memory_reap(context);
	o2g_free_memories(context);
	mutex_unlock(&context->requests);
}

/* A process that has ended is asked for no pages, and another that has its file cannot give them
 * back: its limit would hold for nobody. */
static void o2g_look_after(struct work_struct *work)
{
	struct o2g_context *context = container_of(to_delayed_work(work), struct o2g_context, watcher);

	if (!atomic_read(&context->mm->mm_users))
		o2g_context_end(context);
	o2g_context_watch(context);
}

void o2g_context_watch(struct o2g_context *context)
{
	if (atomic64_read(&context->pages_pinned))
		schedule_delayed_work(&context->watcher, O2G_WATCH_SECONDS * HZ);
}

struct o2g_context *o2g_context_new(void)
{
	struct o2g_context *context = kzalloc(sizeof(*context), GFP_KERNEL_ACCOUNT);

	if (!context)
		return NULL;
	context->user = o2g_user_get();
	if (!context->user) {
		kfree(context);
		return NULL;
	}
	refcount_set(&context->references, 1);
	mutex_init(&context->requests);
	spin_lock_init(&context->lock);
	INIT_LIST_HEAD(&context->queue);
	init_waitqueue_head(&context->sleepers);
	init_waitqueue_head(&context->dumpers);
	init_completion(&context->dumpers_gone);
	INIT_DELAYED_WORK(&context->reaper, o2g_reap_later);
	INIT_DELAYED_WORK(&context->watcher, o2g_look_after);
	context->mm = current->mm;
	mmgrab(context->mm);
	atomic64_inc(&o2g_contexts_all);
	return context;
}

/* Memory for as long as the context exists: 0, or -ENOMEM. */
static int o2g_charge(struct o2g_context *context, u64 bytes)
{
	int error = o2g_user_charge(context->user, bytes);

	if (!error)
		context->charged_bytes += bytes;
	return error;
}

static void o2g_uncharge(struct o2g_context *context, u64 bytes)
{
	context->charged_bytes -= bytes;
	o2g_user_uncharge(context->user, bytes);
}

static void o2g_tables_free(struct o2g_context *context)
{
	kvfree(context->sockets);
	kvfree(context->memories);
	context->sockets = NULL;
	context->memories = NULL;
}

/* What a core needs beside itself. */
static int o2g_tables_new(struct o2g_context *context, const struct o2g_init *init)
{
	context->sockets = kvcalloc(init->n_socks, sizeof(*context->sockets), GFP_KERNEL_ACCOUNT);
	context->memories = kvcalloc(init->n_entries, sizeof(*context->memories), GFP_KERNEL_ACCOUNT);
	if (!context->sockets || !context->memories)
		return -ENOMEM;
	return o2g_dumpers_start(context, 1);
}

/* The context's requests are locked. */
int o2g_context_init(struct o2g_context *context, const struct o2g_init *init)
{
	struct o2g_core *core;
	u64 secret[2], bytes;
	int error;

	if (init->version != O2G_VERSION)
		return -EPROTO;
	if (!init->n_socks || init->n_socks > O2G_SOCKETS_MAX || !init->n_entries || init->n_entries > O2G_ENTRIES_MAX ||
	    init->reserved)
		return -EINVAL;
	if (context->core)
		return -EBUSY;
	bytes = o2g_core_bytes(init->n_socks, init->n_entries) + init->n_socks * sizeof(*context->sockets) +
		init->n_entries * sizeof(*context->memories);
	error = o2g_charge(context, bytes);
	if (error)
		return error;
	error = ox_shim_has_memory(bytes) ? o2g_tables_new(context, init) : -ENOMEM;
	if (error) {
		o2g_tables_free(context);
		o2g_uncharge(context, bytes);
		return error;
	}
	/* So that no peer can choose keys that make the queues slow. */
	get_random_bytes(secret, sizeof(secret));
	core = o2g_core_new(init->n_socks, init->n_entries, secret);
	memzero_explicit(secret, sizeof(secret));
	if (!core)
		return -EINVAL;
	context->n_socks = init->n_socks;
	context->n_entries = init->n_entries;
	/* Requests that take no lock read it. */
	smp_store_release(&context->core, core);
	return 0;
}

/* Memory that the process maps, counted as its own: a group's limit holds for it. vfree gives all of it back. */
static void *o2g_area_new(u64 bytes)
{
	const gfp_t flags = GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_RETRY_MAYFAIL | __GFP_NOWARN;
	u32 n_pages = bytes >> PAGE_SHIFT, n;
	struct page **pages = kvcalloc(n_pages, sizeof(*pages), GFP_KERNEL_ACCOUNT);
	void *area = NULL;

	if (!pages)
		return NULL;
	for (n = 0; n < n_pages && !fatal_signal_pending(current); n++) {
		pages[n] = alloc_page(flags);
		if (!pages[n])
			break;
		cond_resched();
	}
	if (n == n_pages)
		area = vmap(pages, n_pages, VM_MAP | VM_USERMAP | VM_MAP_PUT_PAGES, PAGE_KERNEL);
	if (area)
		return area;
	while (n)
		__free_page(pages[--n]);
	kvfree(pages);
	return NULL;
}

/* The context's requests are locked, and it has a core. */
int o2g_context_set_area(struct o2g_context *context, struct o2g_dump_area *dump)
{
	u64 done_bytes = PAGE_ALIGN((u64)context->n_entries * sizeof(struct o2g_done));
	u64 bytes = O2G_PAGE_BYTES + done_bytes + dump->bytes;
	void *area;
	int error;

	if (dump->bytes < O2G_DUMP_BYTES_MIN || dump->bytes > O2G_DUMP_BYTES_MAX || !is_power_of_2(dump->bytes))
		return -EINVAL;
	if (context->area)
		return -EBUSY;
	/* More than there is would drive out everybody else first. */
	if (bytes >> PAGE_SHIFT > si_mem_available())
		return -ENOMEM;
	error = o2g_charge(context, bytes);
	if (error)
		return error;
	area = o2g_area_new(bytes);
	if (!area) {
		o2g_uncharge(context, bytes);
		return -ENOMEM;
	}
	spin_lock_bh(&context->lock);
	error = o2g_core_set_area(context->core, area, area + O2G_PAGE_BYTES, area + O2G_PAGE_BYTES + done_bytes, dump->bytes);
	spin_unlock_bh(&context->lock);
	if (error) {
		vfree(area);
		o2g_uncharge(context, bytes);
		return error;
	}
	context->area_bytes = bytes;
	/* mmap takes no lock. */
	smp_store_release(&context->area, area);
	dump->map_bytes = bytes;
	return 0;
}

void o2g_context_wake(struct o2g_context *context)
{
	bool readable;

	if (!wq_has_sleeper(&context->sleepers))
		return;
	spin_lock_bh(&context->lock);
	readable = o2g_core_is_readable(context->core);
	spin_unlock_bh(&context->lock);
	if (!readable)
		return;
	atomic64_inc(&context->wakeups);
	wake_up_interruptible_poll(&context->sleepers, EPOLLIN | EPOLLRDNORM);
}

/* The file is closed for good: no request runs, and none will. */
void o2g_context_close(struct o2g_context *context)
{
	cancel_delayed_work_sync(&context->watcher);
	if (context->core)
		o2g_socket_forget_all(context);
	o2g_dumpers_stop(context);
	cancel_delayed_work_sync(&context->reaper);
	if (context->core)
		o2g_context_end(context);
	o2g_context_put(context);
}

void o2g_context_put(struct o2g_context *context)
{
	if (!refcount_dec_and_test(&context->references))
		return;
	if (context->core)
		o2g_core_free(context->core);
	vfree(context->area);
	o2g_tables_free(context);
	mmdrop(context->mm);
	o2g_user_uncharge(context->user, context->charged_bytes);
	o2g_user_put(context->user);
	kfree(context);
	atomic64_dec(&o2g_contexts_all);
}
