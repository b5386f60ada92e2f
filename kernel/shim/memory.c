// SPDX-License-Identifier: GPL-2.0
/*
 * memory.c: what the Rust core needs of a kernel. It allocates only in o2g_core_new, in process context; its
 * types cannot hear that there is no memory, so o2g_context_init tries first with o2g_core_bytes, and these allocations do not fail.
 */
#include <linux/bug.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/slab.h>

#include "o2g_shim.h"

void *o2g_shim_alloc(__u64 bytes, __u64 align)
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

void o2g_shim_dealloc(void *at)
{
	kvfree(at);
}

void o2g_shim_print(const __u8 *text, __u64 bytes)
{
	pr_emerg("o2g: %.*s\n", (int)bytes, text);
}
