// SPDX-License-Identifier: GPL-2.0
/*
 * regions.c: pinned memory, and the cache of it. Receives are posted into the same buffers again
 * and again, and pinning costs more than matching: so a region stays pinned when the last entry
 * that uses it is over, and the next receive into it finds it here. A region serves every buffer
 * that lies within it.
 *
 * Pages that are kept must be those that the process has at these addresses. An interval notifier
 * tells before a mapping changes (munmap, mremap, madvise, fork, a truncated file, the end of the
 * process); from then on the region is *stale*: no receive finds it any more. Entries that have it
 * keep it until they are over, as if it had been pinned for them alone.
 *
 * The notifier's callback may come while memory is reclaimed and pages are locked, so it only
 * takes `regions_lock`, which is held for moments and under which nothing sleeps; the pages of a
 * region that nobody uses are let go by the reaper. Regions are made and let go in process context,
 * with no lock held that a callback could want: removing a notifier waits for those that run.
 */
#include <linux/capability.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "o2g_shim.h"

/* Regions without users that a context keeps. */
#define O2G_KEPT_REGIONS_MAX 1024u
/* Their pages: 1 GiB. */
#define O2G_KEPT_PAGES_MAX (1u << 18)
/* Of the machine's memory, the regions without users of all contexts of a user have this part. */
#define O2G_USER_KEPT_PART 16
/* Regions that overlap a buffer and are looked at before it is pinned anew: time under a lock. */
#define O2G_LOOKS_MAX 64u
/* How often pages are pinned anew because the mapping changed meanwhile; pinning itself changes it
 * where pages are shared with a child. */
#define O2G_PIN_TRIES 4u

/* The lock is held. From now on no receive finds the region. */
static void o2g_region_expire(struct o2g_region *region)
{
	struct o2g_context *context = region->context;

	if (!region->fresh)
		return;
	region->fresh = false;
	interval_tree_remove(&region->node, &context->regions);
}

/* The lock is held. Of the regions that are kept it is no longer one. */
static void o2g_region_unkeep(struct o2g_region *region)
{
	struct o2g_context *context = region->context;

	list_del_init(&region->list);
	context->n_kept--;
	atomic64_sub(region->n_pages, &context->pages_kept);
	atomic64_sub(region->n_pages, &context->user->pages_kept);
}

/* The same, and it is to be let go. */
static void o2g_region_unmake(struct o2g_region *region, struct list_head *to)
{
	o2g_region_expire(region);
	o2g_region_unkeep(region);
	list_add_tail(&region->list, to);
}

/* The process's memory is about to change there. */
static bool o2g_region_invalidate(struct mmu_interval_notifier *notifier,
		const struct mmu_notifier_range *range,
				  unsigned long sequence)
{
	struct o2g_region *region = container_of(notifier, struct o2g_region, notifier);
	struct o2g_context *context = region->context;
	bool unused;

	spin_lock(&context->regions_lock);
	mmu_interval_set_seq(notifier, sequence);
	unused = region->fresh && !region->n_users;
	if (unused)
		o2g_region_unmake(region, &context->stale);
	else
		o2g_region_expire(region);
	spin_unlock(&context->regions_lock);
	if (unused)
		mod_delayed_work(system_wq, &context->reaper, 0);
	return true;
}

static const struct mmu_interval_notifier_ops o2g_region_operations = {
	.invalidate = o2g_region_invalidate,
};

static void o2g_region_unpin(struct o2g_region *region)
{
	struct o2g_context *context = region->context;

	unpin_user_pages_dirty_lock(region->pages, region->n_pages, true);
	atomic64_sub(region->n_pages, &context->pages_held);
	atomic64_sub(region->n_pages, &o2g_pages_pinned_all);
}

/* Of what has pages or not, is accounted, and is on no list. */
static void o2g_region_free(struct o2g_region *region, bool pinned)
{
	if (region->watched)
		mmu_interval_notifier_remove(&region->notifier);
	if (pinned)
		o2g_region_unpin(region);
	account_locked_vm(region->context->mm, region->n_pages, false);
	kvfree(region->pages);
	kfree(region);
}

static void o2g_regions_free(struct list_head *list)
{
	struct o2g_region *region, *next;

	list_for_each_entry_safe(region, next, list, list) {
		o2g_region_free(region, true);
		cond_resched();
	}
}

/* How many pages were pinned. A long buffer takes its time, so a process that is killed does not
 * wait for it. */
static u32 o2g_pin_pages(unsigned long address, u32 n_pages, struct page **pages)
{
	u32 pinned = 0;
	int n;

	while (pinned < n_pages && !fatal_signal_pending(current)) {
		n = pin_user_pages_fast(address + ((unsigned long)pinned << PAGE_SHIFT),
					min(n_pages - pinned, O2G_PINNED_AT_ONCE),
					FOLL_WRITE | FOLL_LONGTERM, pages + pinned);
		if (n <= 0)
			break;
		pinned += n;
		cond_resched();
	}
	return pinned;
}

static bool o2g_region_pin(struct o2g_region *region)
{
	struct o2g_context *context = region->context;
	u32 n = o2g_pin_pages(region->node.start << PAGE_SHIFT, region->n_pages, region->pages);

	if (n < region->n_pages) {
		if (n)
			unpin_user_pages(region->pages, n);
		return false;
	}
	atomic64_add(n, &context->pages_held);
	atomic64_add(n, &o2g_pages_pinned_all);
	return true;
}

/* A page of a file has to be marked when a message has been written to it, for its file system to
 * know; that is done when it is let go, so it is not kept. */
static bool o2g_may_keep(const struct o2g_region *region)
{
	u32 n;

	for (n = 0; n < region->n_pages; n++)
		if (!folio_test_swapbacked(page_folio(region->pages[n])) &&
				!folio_test_hugetlb(page_folio(region->pages[n])))
			return false;
	return true;
}

/* Pins a region that is watched, and lets receives find it if nothing changed meanwhile. */
static bool o2g_region_fill(struct o2g_region *region)
{
	struct o2g_context *context = region->context;
	unsigned long sequence = 0;
	u32 tries = 0;

	for (;;) {
		if (region->watched)
			sequence = mmu_interval_read_begin(&region->notifier);
		if (!o2g_region_pin(region))
			return false;
		if (!region->watched || !o2g_may_keep(region))
			return true;
		spin_lock(&context->regions_lock);
		region->fresh = !mmu_interval_read_retry(&region->notifier, sequence);
		if (region->fresh)
			interval_tree_insert(&region->node, &context->regions);
		spin_unlock(&context->regions_lock);
		/* One whose mapping does not come to rest is for this entry alone. */
		if (region->fresh || ++tries == O2G_PIN_TRIES || fatal_signal_pending(current))
			return true;
		o2g_region_unpin(region);
		cond_resched();
	}
}

/* Counts pages as locked by the process. What is kept is let go before the limit is felt. */
static bool o2g_account(struct o2g_context *context, u32 n_pages)
{
	if (!account_locked_vm(context->mm, n_pages, true))
		return true;
	if (!atomic64_read(&context->pages_kept))
		return false;
	o2g_regions_drop(context, false);
	return !account_locked_vm(context->mm, n_pages, true);
}

static struct o2g_region *o2g_region_new(struct o2g_context *context, unsigned long first,
		u32 n_pages)
{
	struct o2g_region *region = kzalloc(sizeof(*region), GFP_KERNEL_ACCOUNT);

	if (!region)
		return NULL;
	region->context = context;
	region->n_users = 1;
	region->n_pages = n_pages;
	region->node.start = first;
	region->node.last = first + n_pages - 1;
	INIT_LIST_HEAD(&region->list);
	if (!o2g_account(context, n_pages)) {
		kfree(region);
		return NULL;
	}
	region->pages = kvmalloc_array(n_pages, sizeof(*region->pages), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!region->pages) {
		o2g_region_free(region, false);
		return NULL;
	}
	/* Without it the region is let go with its entry. */
	region->watched = !mmu_interval_notifier_insert(&region->notifier, context->mm,
			first << PAGE_SHIFT,
							(unsigned long)n_pages << PAGE_SHIFT, &o2g_region_operations);
	if (!o2g_region_fill(region)) {
		o2g_region_free(region, false);
		return NULL;
	}
	atomic64_inc(&context->pins);
	return region;
}

static struct o2g_region *o2g_region_find(struct o2g_context *context, unsigned long first,
		unsigned long last)
{
	struct interval_tree_node *node;
	struct o2g_region *region;
	u32 looks = 0;

	spin_lock(&context->regions_lock);
	for (node = interval_tree_iter_first(&context->regions, first, last);
	     node && looks < O2G_LOOKS_MAX;
	     node = interval_tree_iter_next(node, first, last), looks++) {
		if (node->start > first || node->last < last)
			continue;
		region = container_of(node, struct o2g_region, node);
		if (!region->n_users++)
			o2g_region_unkeep(region);
		spin_unlock(&context->regions_lock);
		atomic64_inc(&context->pins_reused);
		return region;
	}
	spin_unlock(&context->regions_lock);
	return NULL;
}

/* A limit holds for what entries need first: half of it is the most that is kept. */
static u32 o2g_kept_pages_max(void)
{
	u64 half = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT >> 1;

	return half >= O2G_KEPT_PAGES_MAX || capable(CAP_IPC_LOCK) ? O2G_KEPT_PAGES_MAX : half;
}

/* The process asks. Pinned memory with these bytes, for one more entry; NULL: they cannot be
 * pinned. */
struct o2g_region *o2g_region_get(struct o2g_context *context, u64 address, u64 bytes)
{
	unsigned long first = address >> PAGE_SHIFT, last = (address + bytes - 1) >> PAGE_SHIFT;
	struct o2g_region *region;

	if (last - first >= O2G_PINNED_PAGES_MAX)
		return NULL;
	WRITE_ONCE(context->pages_kept_max, o2g_kept_pages_max());
	region = o2g_region_find(context, first, last);
	return region ? region : o2g_region_new(context, first, last - first + 1);
}

static bool o2g_keeps_too_much(const struct o2g_context *context)
{
	return context->n_kept > O2G_KEPT_REGIONS_MAX ||
			atomic64_read(&context->pages_kept) > READ_ONCE(context->pages_kept_max) ||
	       atomic64_read(&context->user->pages_kept) > totalram_pages() / O2G_USER_KEPT_PART;
}

/* An entry is over. The region is kept, if it may be, and those that were used least recently make
 * room for it. */
void o2g_region_put(struct o2g_region *region)
{
	struct o2g_context *context = region->context;
	LIST_HEAD(unused);

	spin_lock(&context->regions_lock);
	if (!--region->n_users) {
		if (region->fresh && !context->keeps_none) {
			list_move_tail(&region->list, &context->kept);
			context->n_kept++;
			atomic64_add(region->n_pages, &context->pages_kept);
			atomic64_add(region->n_pages, &context->user->pages_kept);
		} else {
			o2g_region_expire(region);
			list_move_tail(&region->list, &unused);
		}
	}
	while (!list_empty(&context->kept) && o2g_keeps_too_much(context)) {
		region = list_first_entry(&context->kept, struct o2g_region, list);
		o2g_region_unmake(region, &unused);
	}
	spin_unlock(&context->regions_lock);
	o2g_regions_free(&unused);
}

/* Lets stale regions go that nobody uses. */
void o2g_regions_reap(struct o2g_context *context)
{
	LIST_HEAD(unused);

	if (list_empty_careful(&context->stale))
		return;
	spin_lock(&context->regions_lock);
	list_splice_init(&context->stale, &unused);
	spin_unlock(&context->regions_lock);
	o2g_regions_free(&unused);
}

/* Lets all regions go that nobody uses. `for_good`: those that are used now are let go with their
 * last entry, which somebody else may be about to let go of. */
void o2g_regions_drop(struct o2g_context *context, bool for_good)
{
	struct o2g_region *region, *next;
	LIST_HEAD(unused);

	spin_lock(&context->regions_lock);
	context->keeps_none |= for_good;
	list_for_each_entry_safe(region, next, &context->kept, list) {
		o2g_region_unmake(region, &unused);
	}
	list_splice_init(&context->stale, &unused);
	spin_unlock(&context->regions_lock);
	o2g_regions_free(&unused);
}
