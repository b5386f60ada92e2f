/* SPDX-License-Identifier: GPL-2.0
 *
 * memory.h: what the Rust half of a module needs of a kernel; memory.c has it, and each module that
 * has a Rust half links its own copy. kernel/runtime/src is the other side.
 */
#ifndef OX_MEMORY_H
#define OX_MEMORY_H

#include <linux/types.h>

/* Whether so much memory can be had now. Process context. A core whose types cannot hear that there
 * is none is made only after this. */
bool ox_shim_has_memory(__u64 bytes);

void *ox_shim_alloc(__u64 bytes, __u64 align); /* process context, never NULL */
void ox_shim_dealloc(void *at);
void ox_shim_print(const __u8 *text, __u64 bytes); /* a panic's message, before ud2 */

#endif
