// SPDX-License-Identifier: GPL-2.0
/*
 * pages.c: the memory of entries. It is pinned where that is possible, so that the protocol handler can write it whatever runs; what cannot be
 * pinned (the limit of locked memory, files that must not be written behind their backs) is written through the process's
 * addresses by a dumper thread.
 *
 * Pages are let go in process context only, because marking them dirty may sleep (regions.c).
 */
#include <linux/highmem.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "o2g_shim.h"

/* Every address from `from` to `end` is of a mapping that the process may write; no page of it is
 * touched. */
static int o2g_is_writable(struct mm_struct *mm, unsigned long from, unsigned long end)
{
	struct vm_area_struct *vma;
	int error = 0;

	if (mmap_read_lock_killable(mm))
		return -EINTR;
	while (from < end) {
		vma = find_vma(mm, from);
		if (!vma || vma->vm_start > from || !(vma->vm_flags & VM_WRITE)) {
			error = -EFAULT;
			break;
		}
		if (fatal_signal_pending(current)) {
			error = -EINTR;
			break;
		}
		from = vma->vm_end;
		cond_resched();
	}
	mmap_read_unlock(mm);
	return error;
}

/* Memory that cannot be pinned may still be written, unless it is not there, or only to be read.
 * This asks, and changes not a byte. */
static int o2g_could_write(u64 address, u64 bytes)
{
	u64 first = min_t(u64, bytes, O2G_FAULTED_BYTES_MAX);

	if (fault_in_safe_writeable((void __user *)address, first))
		return fatal_signal_pending(current) ? -EINTR : -EFAULT;
	return o2g_is_writable(current->mm, address + first, address + bytes);
}

static u64 o2g_n_pages(const struct o2g_memory *memory)
{
	return (offset_in_page(memory->address) + memory->bytes + PAGE_SIZE - 1) >> PAGE_SHIFT;
}

struct o2g_memory *o2g_memory_new(struct o2g_context *context, const struct o2g_entry *entry)
{
	u64 address = entry->address, bytes = entry->bytes;
	struct o2g_memory *memory;
	int error;

	if (bytes && !access_ok((void __user *)address, bytes))
		return ERR_PTR(-EFAULT);
	memory = kmalloc(sizeof(*memory), GFP_KERNEL_ACCOUNT);
	if (!memory)
		return ERR_PTR(-ENOMEM);
	*memory = (struct o2g_memory){ .cookie = entry->cookie, .address = address, .bytes = bytes };
	if (!bytes)
		return memory;
	memory->region = o2g_region_get(context, address, bytes);
	if (memory->region) {
		atomic64_add(o2g_n_pages(memory), &context->pages_pinned);
		return memory;
	}
	error = o2g_could_write(address, bytes);
	if (error) {
		kfree(memory);
		return ERR_PTR(error);
	}
	return memory;
}

bool o2g_memory_is_pinned(const struct o2g_memory *memory)
{
	return memory->region || !memory->bytes;
}

void o2g_memory_free(struct o2g_context *context, struct o2g_memory *list)
{
	struct o2g_memory *next;

	for (; list; list = next) {
		next = list->next;
		if (list->region) {
			atomic64_sub(o2g_n_pages(list), &context->pages_pinned);
			o2g_region_put(list->region);
		}
		kfree(list);
	}
}

static void o2g_write_pages(const struct o2g_memory *memory, u64 offset, const u8 *data, u32 bytes)
{
	const struct o2g_region *region = memory->region;
	u64 at = memory->address - ((u64)region->node.start << PAGE_SHIFT) + offset;

	while (bytes) {
		u32 n = min_t(u32, bytes, PAGE_SIZE - offset_in_page(at));

		memcpy_to_page(region->pages[at >> PAGE_SHIFT], offset_in_page(at), data, n);
		at += n;
		data += n;
		bytes -= n;
	}
}

/* -EFAULT: there is no such memory any more; -EAGAIN: it has to be faulted in, which needs a thread that holds no lock. */
int o2g_memory_write(const struct o2g_memory *memory, u64 offset, const u8 *data, u32 bytes, bool has_mm)
{
	void __user *to;
	unsigned long left;

	/* The core keeps to this; writing elsewhere would be worse than not writing. */
	if (WARN_ON_ONCE(!memory || offset > memory->bytes || bytes > memory->bytes - offset))
		return -EFAULT;
	if (o2g_memory_is_pinned(memory)) {
		o2g_write_pages(memory, offset, data, bytes);
		return 0;
	}
	/* Without the process's own memory there would be another's at these addresses. */
	if (!has_mm)
		return -EFAULT;
	to = (void __user *)(memory->address + offset);
	if (!access_ok(to, bytes))
		return -EFAULT;
	pagefault_disable();
	left = __copy_to_user_inatomic(to, data, bytes);
	pagefault_enable();
	return left ? -EAGAIN : 0;
}

/* The memory of entries that are over, as a list. The context is locked. */
struct o2g_memory *o2g_memory_take_released(struct o2g_context *context)
{
	struct o2g_memory *list = NULL, *memory;
	int slot;

	while ((slot = o2g_core_next_released(context->core)) >= 0) {
		memory = context->memories[slot];
		context->memories[slot] = NULL;
		if (!memory)
			continue;
		memory->next = list;
		list = memory;
	}
	return list;
}

/* Lets the memory of entries go that are over. Process context. */
void o2g_memory_reap(struct o2g_context *context)
{
	struct o2g_memory *list;

	spin_lock_bh(&context->lock);
	list = o2g_memory_take_released(context);
	spin_unlock_bh(&context->lock);
	o2g_memory_free(context, list);
	o2g_regions_reap(context);
}
