/* SPDX-License-Identifier: GPL-2.0
 *
 * core.h: what the shim asks of the Rust core (kernel/module/src/lib.rs). The core decides, the shim does: nothing here calls
 * back into the shim except for what kernel/runtime has. Every call on a core is made under its context's lock unless it says
 * otherwise, and takes no other.
 */
#ifndef O2G_CORE_H
#define O2G_CORE_H

#include "../include/o2g.h"

struct o2g_core;

/* What is to be done with bytes of a socket. */
#define O2G_STEP_DONE 0   /* all of them have been used */
#define O2G_STEP_PLACE 1  /* copy `bytes` bytes from `consumed` on to `offset` of the memory of entry `slot`, then o2g_core_placed */
#define O2G_STEP_STOP 2   /* the dump area is full: what is not consumed stays in the socket until o2g_core_free_to says that there is room */
#define O2G_STEP_THREAD 3 /* what is not consumed is to be read in a thread: enough for a softirq, or the memory is not pinned */
#define O2G_STEP_BROKEN 4 /* nothing more is ever read of this socket */

struct o2g_step {
	__u32 what;
	__u32 consumed;
	__u32 slot;
	__u32 bytes;
	__u64 offset;
	__u64 cookie; /* of the entry; no other one's memory is written */
};

/* Memory that o2g_core_new will allocate at most. No lock. */
__u64 o2g_core_bytes(__u32 n_socks, __u32 n_entries);
/* Process context, no lock; NULL if the numbers are out of range. `secret`: two random numbers. */
struct o2g_core *o2g_core_new(__u32 n_socks, __u32 n_entries, const __u64 *secret);
/* Process context, no lock, nobody else knows it any more. */
void o2g_core_free(struct o2g_core *core);
/* The mapped memory: `control` page, `done` flags, `dump` area of `bytes` bytes. Once. 0 or -errno. */
int o2g_core_set_area(struct o2g_core *core, void *control, void *done, void *dump, __u64 bytes);

/* Index of a new socket, or -errno: -EEXIST the rank has one, -ENOSPC n_socks, -EINVAL no area yet. */
int o2g_core_open_socket(struct o2g_core *core, __u32 rank);
/* Index of the socket of that rank, or -ENOENT. */
int o2g_core_find_socket(struct o2g_core *core, __u32 rank);
/* An entry whose message was arriving there is over with error ECONNRESET. */
void o2g_core_close_socket(struct o2g_core *core, __u32 index);

/* A run of the reader begins. `softirq`: bytes are limited and only pinned memory can be written. */
void o2g_core_begin(struct o2g_core *core, __u32 index, int softirq);
/* Bytes of the socket, in order. The caller copies as told and goes on with the rest until `what` is not PLACE. */
void o2g_core_feed(struct o2g_core *core, __u32 index, const __u8 *data, __u32 bytes, struct o2g_step *step);
/* The last PLACE step of the socket is for that entry, and has not been reported: its memory is
 * held. */
int o2g_core_is_placing(struct o2g_core *core, __u32 index, __u64 cookie);
/* The bytes of the last PLACE step are placed; error 0 or a positive errno. Between the step and this call the lock may be released. */
void o2g_core_placed(struct o2g_core *core, __u32 index, __u32 error);
/* The stream has ended, and no PLACE step is left: error 0 (orderly) or a positive errno. 0, or
 * -EAGAIN: the dump area is full, ask again later. */
int o2g_core_end(struct o2g_core *core, __u32 index, __u32 error);
/* The socket waits for room in the dump area. */
int o2g_core_is_stopped(struct o2g_core *core, __u32 index);

/* `pinned`: the memory of the entry can be written in a softirq. 0, -EAGAIN, -EBUSY the slot is taken, -EINVAL, -ENOSPC. */
int o2g_core_put(struct o2g_core *core, const struct o2g_entry *entry, int pinned);
/* 0, -EAGAIN its message is arriving or has arrived and the record says so, -ENOENT there is none of that name. */
int o2g_core_cancel(struct o2g_core *core, __u64 cookie);
/* The process has taken the dump area up to `tail`. 1 if sockets that stopped may go on, 0 if not, -EINVAL beyond what there is. */
int o2g_core_free_to(struct o2g_core *core, __u64 tail);
/* There are records that the process has not taken. */
int o2g_core_is_readable(struct o2g_core *core);
/* A slot whose entry is over (done, cancelled, failed) and whose memory can be let go; -ENOENT if there is none. */
int o2g_core_next_released(struct o2g_core *core);
/* The core's part of the counters. */
void o2g_core_count(struct o2g_core *core, struct o2g_counters *into);

#endif
