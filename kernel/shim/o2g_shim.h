/* SPDX-License-Identifier: GPL-2.0
 *
 * o2g_shim.h: what the files of the shim tell each other. device.c has the device and its requests,
 * context.c the life of a context, user.c what users share, socket.c the hooks of a TCP socket,
 * reader.c the reading of it, dumper.c the threads, pages.c the memory of entries, regions.c what is
 * pinned, answer.c what is written to sockets. Decisions are made in the core (core.h).
 *
 * Locks, in the order in which they are taken: o2g_context.requests, the socket's lock (lock_sock,
 * or its spinlock in a softirq), o2g_context.lock. mmap takes none of them, because requests fault
 * pages in. o2g_context.regions_lock is taken alone, by whatever changes the process's mappings,
 * too.
 */
#ifndef O2G_SHIM_H
#define O2G_SHIM_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/interval_tree.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <net/sock.h>

#include "../runtime/reader.h"
#include "../runtime/users.h"
#include "core.h"

#define O2G_DUMPERS_MAX 16
/* 4 GiB: a longer buffer is written by a dumper thread instead of being pinned. */
#define O2G_PINNED_PAGES_MAX (1u << 20)

/* Pages that are pinned at a time: 2 MiB, so that interrupts are not kept waiting for a whole
 * buffer. */
#define O2G_PINNED_AT_ONCE 512u
/* What a request faults in of a buffer that is not pinned; of the rest it looks only whether it
 * could be. */
#define O2G_FAULTED_BYTES_MAX (1u << 20)

/* Of the machine's memory, a user's contexts have at most this part. */
#define O2G_USER_MEMORY_PART 4
/* How soon pages are let go after their process has ended without closing the file. */
#define O2G_WATCH_SECONDS 2

/* Threads of one user: 64 contexts with all they may have, or 1024 with one. RLIMIT_NPROC may say
 * less. */
#define O2G_USER_DUMPERS_MAX 1024

/* Who has opened the device: what the contexts of a user have together. */
struct o2g_user {
	struct ox_user user; /* held by contexts */
	u64 n_dumpers;
	u64 bytes; /* of the kernel's memory, for as long as the process likes: tables, dump areas, early bytes */
	atomic64_t pages_kept; /* pinned for no entry */
};

/* Memory of the process that is pinned. */
struct o2g_region {
	struct mmu_interval_notifier notifier; /* while it is `watched` */
	struct interval_tree_node node;        /* its page numbers; in o2g_context.regions while it is `fresh` */
	struct list_head list;                 /* of those without users: kept, stale, or to be let go */
	struct o2g_context *context;
	u32 n_pages;
	struct page **pages;
	bool watched; /* changes of the mapping are told */
	/* Under regions_lock. */
	bool fresh;  /* the pages are those at these addresses, and receives find it */
	u32 n_users; /* entries */
};

/* Where the message of an entry goes. */
struct o2g_memory {
	struct o2g_memory *next; /* of those that are to be let go */
	u64 cookie;              /* of the entry */
	u64 address;
	u64 bytes;
	struct o2g_region *region; /* NULL: not pinned */
};

struct o2g_context {
	refcount_t references; /* the open file, each dumper thread */
	struct o2g_user *user;
	struct mm_struct *mm;  /* whose process may use it; kept from being reused, not from being torn down */
	struct mutex requests; /* of those that change what there is */

	spinlock_t lock; /* with bottom halves off; guards the core and what follows */
	struct o2g_core *core;
	u32 n_socks;
	u32 n_entries;
	struct o2g_socket **sockets;  /* by the core's index; also under `requests` */
	struct o2g_memory **memories; /* by slot */
	u32 n_waiting;                /* sockets that wait for room */
	struct list_head queue;       /* sockets for the dumper threads */
	bool closing;

	void *area; /* control page, flags, dump area; set once */
	u64 area_bytes;
	wait_queue_head_t sleepers; /* in poll */
	wait_queue_head_t dumpers;  /* idle */
	u32 n_dumpers;              /* under `requests` */
	atomic_t n_dumpers_alive;
	struct completion dumpers_gone;
	struct delayed_work reaper;
	struct list_head answers; /* sockets to which answers are to be written; under `lock` */
	struct delayed_work answerer;
	struct delayed_work watcher; /* while pages are held */
	u64 charged_bytes;           /* to the user */

	spinlock_t regions_lock; /* guards what follows, and regions */
	struct rb_root_cached regions; /* that are fresh */
	struct list_head kept;         /* fresh and without users, the one that was used last at the end */
	u32 n_kept;
	struct list_head stale; /* and without users */
	u32 pages_kept_max;
	bool keeps_none; /* the context ends */

	atomic64_t pages_pinned; /* for entries; a page counts for each */
	atomic64_t pages_held;   /* pinned, for entries or not */
	atomic64_t pages_kept;   /* pinned for no entry */
	atomic64_t pins;
	atomic64_t pins_reused;
	atomic64_t n_sockets;
	atomic64_t wakeups;
};

/* A registered TCP socket. */
struct o2g_socket {
	refcount_t references; /* the context, the queue of the dumper threads, the list of answers */
	struct o2g_context *context;
	struct sock *sk; /* held, but not its file: close must still say goodbye to the peer */
	u32 index;       /* the core's */
	void (*data_ready)(struct sock *sk);
	void (*state_change)(struct sock *sk);

	/* Under the socket's lock. */
	bool hooked;    /* the handlers are ours, and there is a connection */
	bool forgotten; /* the core does not know it any more */
	bool ended;     /* the core knows that the stream has ended */
	bool in_thread; /* a dumper thread has it or will have it; nobody else reads */
	/* With bytes left: memory that has to be faulted in before they can be placed. The core
	 * keeps its entry until it is told, so whatever ends a stream gives this up first
	 * (o2g_read_abandon). */
	struct o2g_step step;
	u32 step_error;       /* it cannot be */
	u8 *early;            /* what the process had read before, until it is used up */
	u32 early_at;
	u32 early_bytes;
	u32 charged_bytes; /* to the user */

	/* Under the context's lock. */
	bool waiting;
	struct list_head queued;
	struct list_head answering;
};

/* One run of the reader. */
struct o2g_run {
	struct ox_reader reader;
	struct o2g_socket *socket;
	bool softirq;
	bool has_mm; /* the process's memory is there to be written */
	u32 what;    /* why it ended: O2G_STEP_*, or O2G_RUN_FAULT */
};

/* A place step waits until its memory has been faulted in. */
#define O2G_RUN_FAULT 100

/* device.c */
extern atomic64_t o2g_pages_pinned_all;
extern atomic64_t o2g_sockets_all;
extern atomic64_t o2g_contexts_all;

/* context.c */
struct o2g_context *o2g_context_new(void);
int o2g_context_init(struct o2g_context *context, const struct o2g_init *init);
int o2g_context_set_area(struct o2g_context *context, struct o2g_dump_area *dump);
void o2g_context_close(struct o2g_context *context);
void o2g_context_put(struct o2g_context *context);
void o2g_context_wake(struct o2g_context *context);
void o2g_context_watch(struct o2g_context *context);

/* user.c */
struct o2g_user *o2g_user_get(void);
void o2g_user_put(struct o2g_user *user);
int o2g_user_charge(struct o2g_user *user, u64 bytes);
void o2g_user_uncharge(struct o2g_user *user, u64 bytes);
int o2g_user_add_dumper(struct o2g_user *user);
void o2g_user_remove_dumper(struct o2g_user *user);

/* socket.c */
int o2g_socket_register(struct o2g_context *context, const struct o2g_register *wanted);
int o2g_socket_forget(struct o2g_context *context, u32 rank);
void o2g_socket_forget_all(struct o2g_context *context);
void o2g_socket_put(struct o2g_socket *socket);

/* reader.c: the socket is locked */
void o2g_read(struct o2g_run *run);
void o2g_read_end(struct o2g_socket *socket);
void o2g_read_abandon(struct o2g_socket *socket);

/* answer.c */
void o2g_answers_note(struct o2g_socket *socket);
void o2g_answers_give(struct work_struct *work);

/* dumper.c */
int o2g_dumpers_start(struct o2g_context *context, u32 n);
void o2g_dumpers_stop(struct o2g_context *context);
void o2g_dumpers_queue(struct o2g_socket *socket);
void o2g_dumpers_resume(struct o2g_context *context);

/* regions.c */
struct o2g_region *o2g_region_get(struct o2g_context *context, u64 address, u64 bytes);
void o2g_region_put(struct o2g_region *region);
void o2g_regions_reap(struct o2g_context *context);
void o2g_regions_drop(struct o2g_context *context, bool for_good);

/* pages.c */
struct o2g_memory *o2g_memory_new(struct o2g_context *context, const struct o2g_entry *entry);
void o2g_memory_free(struct o2g_context *context, struct o2g_memory *list);
bool o2g_memory_is_pinned(const struct o2g_memory *memory);
int o2g_memory_write(const struct o2g_memory *memory, u64 offset, const u8 *data, u32 bytes, bool has_mm);
struct o2g_memory *o2g_memory_take_released(struct o2g_context *context);
void o2g_memory_reap(struct o2g_context *context);

#endif
