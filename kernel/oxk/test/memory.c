// SPDX-License-Identifier: GPL-2.0
/* memory.c: memory of every kind that a vector may have, with contents by name. */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "oxk_test.h"

/* Entries of a vector of kernel memory: many, so that pieces begin anywhere. */
#define ENTRIES 5

static u8 content(u64 name, u64 at)
{
	return ((name * 31 + at) * 0x9e3779b9u) >> 13;
}

static int pages_new(struct memory *memory)
{
	u32 i;

	memory->n_pages = DIV_ROUND_UP(memory->offset + memory->bytes, PAGE_SIZE);
	memory->pages = kvcalloc(memory->n_pages + 1, sizeof(*memory->pages), GFP_KERNEL);
	memory->pieces = kvcalloc(memory->n_pages + 1, sizeof(*memory->pieces), GFP_KERNEL);
	if (!memory->pages || !memory->pieces)
		return -ENOMEM;
	for (i = 0; i < memory->n_pages; i++) {
		u64 begin = i ? 0 : memory->offset;
		u64 end = min_t(u64, memory->offset + memory->bytes - i * PAGE_SIZE, PAGE_SIZE);

		memory->pages[i] = alloc_page(GFP_KERNEL);
		if (!memory->pages[i])
			return -ENOMEM;
		memory->pieces[i] = (struct bio_vec) { .bv_page = memory->pages[i],
						       .bv_offset = begin,
						       .bv_len = end - begin };
	}
	memory->vector = (struct oxk_vector) { .kind = OXK_PAGES,
					       .n = memory->n_pages,
					       .pages = memory->pieces };
	return 0;
}

static int user_new(struct memory *memory)
{
	unsigned long bytes =
		PAGE_ALIGN(memory->offset + memory->bytes + sizeof(struct iovec) * 2 + PAGE_SIZE);
	struct iovec entry;

	memory->user =
		vm_mmap(NULL, 0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, 0);
	if (IS_ERR_VALUE(memory->user))
		return -ENOMEM;
	entry.iov_base = (void __user *)(memory->user + memory->offset);
	entry.iov_len = memory->bytes;
	memory->user_entry = (struct iovec __user *)(memory->user + bytes - sizeof(struct iovec));
	if (copy_to_user(memory->user_entry, &entry, sizeof(entry)))
		return -EFAULT;
	memory->vector =
		(struct oxk_vector) { .kind = OXK_USER, .n = 1, .user = memory->user_entry };
	return 0;
}

static int kernel_new(struct memory *memory)
{
	u64 bytes = memory->offset + memory->bytes + 1, at = 0;
	u32 i;

	memory->at = memory->kind == KMALLOC ? kmalloc(bytes, GFP_KERNEL | __GFP_NOWARN)
					     : vmalloc(bytes);
	memory->kernel = kcalloc(ENTRIES, sizeof(*memory->kernel), GFP_KERNEL);
	if (!memory->at || !memory->kernel)
		return -ENOMEM;
	for (i = 0; i < ENTRIES; i++) {
		u64 n = i + 1 < ENTRIES ? memory->bytes / (ENTRIES + i) : memory->bytes - at;

		memory->kernel[i] = (struct kvec) { .iov_base = memory->at + memory->offset + at,
						    .iov_len = n };
		at += n;
	}
	memory->vector =
		(struct oxk_vector) { .kind = OXK_KERNEL, .n = ENTRIES, .kernel = memory->kernel };
	return 0;
}

int memory_new(struct memory *memory, enum kind kind, u64 bytes, u32 offset)
{
	int error;

	*memory = (struct memory) { .kind = kind, .bytes = bytes, .offset = offset };
	switch (kind) {
	case PAGES:
		error = pages_new(memory);
		break;
	case USER:
		error = user_new(memory);
		break;
	default:
		error = kernel_new(memory);
	}
	if (error)
		memory_free(memory);
	return error;
}

void memory_free(struct memory *memory)
{
	u32 i;

	for (i = 0; memory->pages && i < memory->n_pages; i++)
		if (memory->pages[i])
			__free_page(memory->pages[i]);
	kvfree(memory->pages);
	kvfree(memory->pieces);
	kfree(memory->kernel);
	if (memory->user && !IS_ERR_VALUE(memory->user))
		vm_munmap(memory->user, PAGE_ALIGN(memory->offset + memory->bytes +
						   sizeof(struct iovec) * 2 + PAGE_SIZE));
	kvfree(memory->at);
	*memory = (struct memory) {};
}

static u8 get(struct memory *memory, u64 at)
{
	u8 byte = 0;

	if (memory->kind == PAGES) {
		at += memory->offset;
		return *((u8 *)page_address(memory->pages[at >> PAGE_SHIFT]) + offset_in_page(at));
	}
	if (memory->kind != USER)
		return *((u8 *)memory->at + memory->offset + at);
	if (get_user(byte, (u8 __user *)(memory->user + memory->offset + at)))
		return 0;
	return byte;
}

static void put(struct memory *memory, u64 at, u8 byte)
{
	if (memory->kind == PAGES) {
		at += memory->offset;
		*((u8 *)page_address(memory->pages[at >> PAGE_SHIFT]) + offset_in_page(at)) = byte;
	} else if (memory->kind != USER) {
		*((u8 *)memory->at + memory->offset + at) = byte;
	} else if (put_user(byte, (u8 __user *)(memory->user + memory->offset + at))) {
		pr_warn("oxk_test: no memory of the process at %llu\n", at);
	}
}

/* Of long memory, bytes at both ends and a few between, so that emulated processors come through.
 */
static u64 next(const struct memory *memory, u64 at)
{
	if (memory->bytes <= 70000 || at < 5000 || at + 5000 > memory->bytes)
		return at + 1;
	return at + 61;
}

void memory_fill(struct memory *memory, u64 name)
{
	u64 at;

	for (at = 0; at < memory->bytes; at = next(memory, at))
		put(memory, at, content(name, at));
}

u64 memory_differs(struct memory *memory, u64 name, u64 bytes)
{
	u64 at;

	for (at = 0; at < bytes; at = next(memory, at))
		if (get(memory, at) != content(name, at))
			return at;
	return bytes;
}
