// SPDX-License-Identifier: GPL-2.0
/*
 * memory.c: what the Rust half of a module needs of a kernel. A core allocates only when it is
 * made, in process context. Its types cannot hear that there is no memory, so the shim asks
 * ox_shim_has_memory first, and these allocations do not fail.
 */
#include <linux/bug.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/slab.h>

#include "memory.h"

bool ox_shim_has_memory(__u64 bytes)
{
	void *trial = kvmalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);

	kvfree(trial);
	return trial;
}

void *ox_shim_alloc(__u64 bytes, __u64 align)
{
	/* What is a page or longer begins at a page, powers of two at a multiple of themselves. */
	u64 size = max(bytes, align);
	void *at;

	if (align > ARCH_KMALLOC_MINALIGN)
		size = roundup_pow_of_two(size);
	at = kvmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_NOFAIL);
	WARN_ON_ONCE(!IS_ALIGNED((unsigned long)at, align));
	return at;
}

void ox_shim_dealloc(void *at)
{
	kvfree(at);
}

void ox_shim_print(const __u8 *text, __u64 bytes)
{
	pr_emerg(KBUILD_MODNAME ": %.*s\n", (int)bytes, text);
}
