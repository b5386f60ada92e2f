/* SPDX-License-Identifier: GPL-2.0
 *
 * oxfs_client.h: what the files of oxfs.ko tell each other.
 *
 *   super.c        mount options, super blocks, the module
 *   session.c      the connection: HELLO, loss, reconnection, reclaim, leases
 *   transaction.c  one request and its reply, sent again until it is answered
 *   slot.c         slots, by which a change is done once
 *   recall.c       what the server wants forgotten
 *   inode.c        inodes and what is believed of them
 *   attributes.c   asking for attributes and permissions, and changing them
 *   names.c        names in folders
 *   folder.c       listing a folder
 *   open.c         opens at the server
 *   file.c         reading and writing by programs
 *   pages.c        the page cache: reading, buffered writing, shared mappings
 *   writeback.c    dirty pages to the server, and syncing
 *   direct.c       reading and writing straight to the memory of a program
 *   lock.c         advisory locks
 *   xattr.c        extended attributes
 *   count.c        counters
 *
 * The server is not believed: lengths, names, types and numbers of a reply are checked where they
 * are read, and a reply that makes no sense is EIO (-EPROTO at mount).
 */
#ifndef OXFS_CLIENT_H
#define OXFS_CLIENT_H

#include <linux/bvec.h>
#include <linux/completion.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/mempool.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/rwsem.h>
#include <linux/semaphore.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "../include/oxfs.h"
#include "../include/oxk.h"

#define OXFS_MAGIC 0x6f786673
#define OXFS_KEY_BYTES 16u
#define OXFS_TIMEO_SECONDS 30u
#define OXFS_TIMEO_SECONDS_MAX 3600u
/* How long attributes are believed that nobody has recalled: changes made at the server behind the
 * server's back are seen after that. */
#define OXFS_ATTR_SECONDS 1
/* Transactions at a time, without WRITEs (which are as many as there are slots for them) and waits
 * for locks. */
#define OXFS_ROOM 64
#define OXFS_LOCK_WAITS_MAX 64
#define OXFS_RECALLS 16u
/* 4 requests for each transaction, and HELLO's and RENEW's. */
#define OXFS_OXK_REQUESTS                                                                          \
	((OXFS_ROOM + OXFS_LOCK_WAITS_MAX + OXFS_SLOTS_MAX + 8u) * 4u + 2u * OXFS_RECALLS)
#define OXFS_OXK_EAGER_BYTES (16u << 10)
#define OXFS_OXK_UNEXPECTED_BYTES (512u << 10)
#define OXFS_PAGES_MAX (OXFS_DATA_MAX >> PAGE_SHIFT)
/* Data of all transactions and WRITEs, and a piece for each other request. */
#define OXFS_OXK_PIECES ((OXFS_ROOM + OXFS_SLOTS_MAX) * OXFS_PAGES_MAX + 2u * OXFS_OXK_REQUESTS)
/* With -o bounce, data of few transactions at a time goes through a buffer. */
#define OXFS_BOUNCE_ROOM 8u
#define OXFS_BOUNCE_BYTES (2u * OXFS_BOUNCE_ROOM * (OXFS_DATA_MAX + PAGE_SIZE))
/* What the server answers to a session that it does not know (any more). */
#define OXFS_NO_SESSION EKEYEXPIRED
#define OXFS_RECONNECT_MS 200u
#define OXFS_RECONNECT_MS_MAX 5000u

/* ---- mounts ------------------------------------------------------------------------------- */

struct oxfs_options {
	bool soft;
	bool no_cache;
	bool bounce;
	bool read_only;
	u32 timeo; /* seconds */
	s32 key; /* 0: by the host's name */
	u32 port;
};

enum oxfs_state {
	OXFS_DOWN, /* nothing is sent; transactions wait */
	OXFS_UP,
	OXFS_GONE, /* for good: the mount ends */
};

struct oxfs_slot {
	u32 sequence; /* of its last transaction */
	bool taken;
	bool torn; /* taken, by a transaction that failed and of which the server may know */
};

enum oxfs_recall_state {
	OXFS_RECALL_IDLE,
	OXFS_RECALL_POSTED,
	OXFS_RECALL_BUSY, /* received, not answered yet */
};

struct oxfs_recall_work {
	enum oxfs_recall_state state; /* under the session's lock */
	struct work_struct work;
	struct oxfs_session *session;
	struct oxk_request request; /* receives, then answers */
	struct oxfs_recall message;
	struct kvec memory;
};

struct oxfs_session {
	struct rcu_head rcu;
	struct list_head all; /* for counters */
	struct super_block *sb; /* NULL before the root is there */
	struct oxfs_options options;
	struct sockaddr_storage address;
	char host[64];
	struct net *net;
	struct key *key;
	u64 client[2]; /* random: the name of this mount */

	/* Who posts holds it for reading; who changes `state` for writing. */
	struct rw_semaphore gate;
	enum oxfs_state state;
	struct oxk_endpoint *endpoint; /* while UP, and during HELLO */
	oxk_peer_t peer;
	bool lost; /* the connection is to be made anew */
	bool peer_down;
	int peer_error;
	bool forced; /* umount -f: what cannot be sent fails; until the server is there again */

	u64 id; /* of the session; 0: none yet */
	u64 boot;
	u32 io_bytes_max;
	u32 lease_ms;
	u64 root;
	u64 epoch; /* caches of an older one are looked at again */
	u64 secret; /* hides addresses in lock owners */

	spinlock_t lock; /* bottom halves off; what follows */
	u64 transaction;
	u64 moment; /* moves on when a request is sent, and when anything is learnt of an inode */
	u64 recalled_at; /* the moment of the last recall of any node */
	struct list_head waiting; /* settled without an answer, or not sent yet */
	struct list_head active; /* sent */
	struct oxfs_slot slots[OXFS_SLOTS_MAX];
	u32 n_slots;
	unsigned long heard; /* jiffies of the last reply */
	bool renewing;
	bool stopping;
	bool begun; /* the first HELLO was answered */
	struct list_head opens;

	/* Never in a softirq, because an inode's own lock is taken under it. */
	spinlock_t inodes_lock;
	struct list_head unsynced; /* inodes with WRITEs that no FSYNC followed, or under way */

	wait_queue_head_t slots_free;
	wait_queue_head_t idle;
	struct semaphore room;
	struct semaphore lock_waits;
	struct workqueue_struct *works;
	struct workqueue_struct *recallers; /* never waits for a slot: others' changes wait for it */
	struct workqueue_struct *leavers; /* tells the server what is let go of */
	struct work_struct recovery;
	struct delayed_work watch;
	struct completion first; /* the first HELLO's answer */
	int first_error;
	struct oxfs_recall_work recalls[OXFS_RECALLS];
};

static inline struct oxfs_session *oxfs_session_of(const struct super_block *sb)
{
	return sb->s_fs_info;
}

/* ---- opens and inodes --------------------------------------------------------------------- */

struct oxfs_open {
	refcount_t references;
	struct oxfs_session *session;
	struct list_head of_session; /* under the session's lock */
	struct list_head of_inode;
	struct inode *inode; /* held by the file; under inodes_lock */
	const struct cred *cred;
	u64 node;
	u64 id;
	u32 flags; /* as the server was told */
	u64 epoch;
	struct work_struct close;
};

struct oxfs_inode {
	u64 node;
	u64 change;
	u64 entries; /* of a folder: moves on when names may have changed */
	u64 epoch;
	unsigned long attr_until; /* jiffies */
	bool attr_valid;
	bool data_stale; /* pages are to be dropped before they are read */
	bool dropping; /* they are being dropped, by who has the lock */
	struct mutex dropping_lock;
	loff_t cut_at; /* where the server is cutting the file off now; LLONG_MAX: nowhere */
	/* Moments of the session, under its lock. */
	u64 changed_at; /* this side changed size or attributes */
	u64 learnt_at; /* attributes were taken from an answer */
	u64 recalled_at; /* the server wanted them forgotten */
	u32 access_known; /* MAY_ bits of access_uid */
	u32 access_granted;
	kuid_t access_uid;
	kgid_t access_gid;
	struct group_info *access_groups; /* held, so that no other comes to lie there */
	unsigned long access_until;
	struct list_head opens; /* under the session's lock */
	struct list_head unsynced; /* under inodes_lock */
	/* Of the server that has answered the oldest WRITE that no FSYNC followed, 0: there is none.
	 * Under the session's lock. */
	u64 unsynced_boot;
	atomic_t writing; /* WRITEs that are not over */
	struct inode vfs;
};

static inline struct oxfs_inode *oxfs_i(const struct inode *inode)
{
	return container_of(inode, struct oxfs_inode, vfs);
}

static inline struct oxfs_session *oxfs_session_i(const struct inode *inode)
{
	return oxfs_session_of(inode->i_sb);
}

/* What file->private_data is; folders have entries. */
struct oxfs_file {
	struct oxfs_open *open;
	struct mutex lock; /* what follows */
	u8 *entries;
	u32 entries_bytes;
	u32 entries_at;
	u64 next; /* where the rest is asked for */
	loff_t at; /* position of entries_at */
	bool end;
};

static inline struct oxfs_open *oxfs_open_of(const struct file *file)
{
	return ((struct oxfs_file *)file->private_data)->open;
}

/* ---- transactions ------------------------------------------------------------------------- */

/* Bits of oxfs_transaction.steps. */
enum oxfs_step {
	OXFS_STEP_POSTED,
	OXFS_STEP_REPLIED,
};

enum oxfs_slot_kind {
	OXFS_SLOTLESS,
	OXFS_SLOT_NAMES, /* the lower half of the slots */
	OXFS_SLOT_DATA, /* the upper: recalled data can be written while names wait for recalls */
};

struct oxfs_transaction {
	refcount_t references;
	atomic_t pending; /* requests of oxk that are not over, and who posts */
	struct list_head list;
	struct oxfs_session *session;
	struct oxfs_open *open; /* its number is filled in whenever it is sent */
	struct inode *inode; /* held */
	u64 number;
	u32 operation;
	enum oxfs_slot_kind slot_kind;
	u32 slot;
	struct semaphore *room;
	bool answered;
	bool finished; /* under the session's lock */
	bool sent;
	bool posted_request; /* this time */
	bool in_doubt; /* the server may have done it, in the session that is asked now */
	bool mending; /* of a torn slot */
	bool special; /* HELLO and reclaims: sent while DOWN, not repeated */
	bool endless; /* a wait for a lock: never late */
	bool abandoned; /* its caller was killed: under the session's lock */
	unsigned long steps;
	unsigned long posted; /* jiffies */
	unsigned long deadline; /* of a soft mount */
	int error;
	u64 asked_at; /* the session's moment when it was sent last */

	/* Called once when it is over, in softirq or process context; may not sleep. */
	void (*done)(struct oxfs_transaction *transaction);
	/* Instead of done, in process context, if it is over after its caller was killed. */
	void (*orphan)(struct oxfs_transaction *transaction);
	struct work_struct work;
	struct completion over;

	/* Data: pages with their references, or kernel memory. */
	bool outward;
	bool pinned; /* pages of a program: oxfs_extracted_free */
	u32 n_pages;
	u32 data_max; /* bytes of room, or to be sent */
	struct bio_vec *pages;
	void *memory; /* kvmalloc'ed, freed with the transaction */
	struct kvec memory_vec;
	u32 data_here; /* bytes that came */

	struct oxk_request send, send_data, receive, receive_data;
	struct kvec send_vec, receive_vec;
	struct oxfs_reply reply;
	u32 request_bytes;
	union {
		struct oxfs_request request;
		u8 bytes[OXFS_REQUEST_MAX];
	};
};

/* transaction.c */
int oxfs_transactions_init(void);
void oxfs_transactions_exit(void);
struct oxfs_transaction *oxfs_transaction_new(struct oxfs_session *session, u32 operation,
					      const struct cred *cred);
void oxfs_transaction_put(struct oxfs_transaction *transaction);
int oxfs_transaction_names(struct oxfs_transaction *transaction, const char *name, u32 bytes,
			   const char *name2, u32 bytes2);
void oxfs_transaction_inode(struct oxfs_transaction *transaction, struct inode *inode,
			    struct oxfs_open *open);
void oxfs_transaction_open(struct oxfs_transaction *transaction, struct oxfs_open *open);
int oxfs_transaction_memory(struct oxfs_transaction *transaction, u32 bytes, bool outward);
int oxfs_transaction_pages(struct oxfs_transaction *transaction);
void oxfs_transaction_argument(struct oxfs_transaction *transaction, u32 index, u64 value);
int oxfs_transaction_submit(struct oxfs_transaction *transaction, bool killable);
int oxfs_transaction_wait(struct oxfs_transaction *transaction, bool interruptible);
int oxfs_transaction_call(struct oxfs_transaction *transaction);
void oxfs_transaction_post(struct oxfs_transaction *transaction);
void oxfs_transaction_fail(struct oxfs_transaction *transaction, int error);
bool oxfs_transaction_is_lost(const struct oxfs_transaction *transaction);
int oxfs_transaction_special(struct oxfs_transaction *transaction, u32 seconds);

static inline u64 oxfs_value(const struct oxfs_transaction *transaction, u32 index)
{
	return le64_to_cpu(transaction->reply.values[index]);
}

/* slot.c */
int oxfs_slot_take(struct oxfs_transaction *transaction, bool killable);
void oxfs_slot_leave(struct oxfs_transaction *transaction);
void oxfs_slots_mend(struct oxfs_session *session);

/* super.c: for what the kernel does of its own accord */
extern const struct cred *oxfs_kernel_cred;

/* session.c */
struct oxfs_session *oxfs_session_new(void);
int oxfs_session_start(struct oxfs_session *session);
void oxfs_session_stop(struct oxfs_session *session);
void oxfs_session_free(struct oxfs_session *session);
void oxfs_session_force(struct oxfs_session *session);
void oxfs_session_lost(struct oxfs_session *session);
void oxfs_session_close(struct oxfs_session *session);

/* recall.c */
int oxfs_recalls_post(struct oxfs_session *session);
void oxfs_recalls_init(struct oxfs_session *session);
u64 oxfs_match(u32 kind, u32 operation, u64 number);

/* inode.c */
int oxfs_inodes_init(void);
void oxfs_inodes_exit(void);
struct inode *oxfs_inode_alloc(struct super_block *sb);
void oxfs_inode_free(struct inode *inode);
void oxfs_inode_evict(struct inode *inode);
struct inode *oxfs_inode_get(struct super_block *sb, const struct oxfs_transaction *answer,
			     u64 node);
struct inode *oxfs_inode_find(struct super_block *sb, u64 node);
struct inode *oxfs_inode_of_reply(struct super_block *sb,
				  const struct oxfs_transaction *transaction);
int oxfs_inode_update(struct inode *inode, const struct oxfs_attr *attr, u64 asked_at);
void oxfs_inode_changed(struct inode *inode);
u64 oxfs_inode_adopt(struct inode *inode, const struct oxfs_transaction *transaction);
void oxfs_inode_orphan(struct oxfs_transaction *transaction);
void oxfs_inode_forget(struct inode *inode);
void oxfs_inode_forget_entries(struct inode *inode);
void oxfs_inodes_recalled(struct oxfs_session *session);
bool oxfs_inode_is_fresh(struct inode *inode);
int oxfs_inode_refresh(struct inode *inode, bool now);
int oxfs_inode_drop_stale(struct inode *inode);
int oxfs_getattr(oxfs_idmap *idmap, const struct path *path, struct kstat *stat, u32 mask,
		 unsigned int flags);
int oxfs_setattr(oxfs_idmap *idmap, struct dentry *dentry, struct iattr *attr);
int oxfs_permission(oxfs_idmap *idmap, struct inode *inode, int mask);
void oxfs_access_drop(struct inode *inode);
void oxfs_folder_changed(struct inode *folder, const struct oxfs_transaction *transaction);

/* names.c, folder.c, file.c, xattr.c */
extern const struct inode_operations oxfs_folder_inode_operations;
extern const struct inode_operations oxfs_file_inode_operations;
extern const struct inode_operations oxfs_link_inode_operations;
extern const struct dentry_operations oxfs_dentry_operations;
extern const struct file_operations oxfs_folder_operations;
extern const struct file_operations oxfs_file_operations;
extern const struct address_space_operations oxfs_pages_operations;
extern OXFS_HANDLERS oxfs_xattr_handlers[];
ssize_t oxfs_listxattr(struct dentry *dentry, char *buffer, size_t bytes);

/* open.c */
struct oxfs_file *oxfs_file_new(struct inode *inode, u32 flags, const struct cred *cred);
int oxfs_file_open(struct inode *inode, struct file *file);
int oxfs_file_release(struct inode *inode, struct file *file);
void oxfs_file_opened(struct oxfs_file *file, struct inode *inode, u64 id);
void oxfs_file_free(struct oxfs_file *file);
u32 oxfs_open_flags(u32 flags);
void oxfs_open_put(struct oxfs_open *open);
void oxfs_open_close(struct oxfs_session *session, u64 id);
void oxfs_open_orphan(struct oxfs_transaction *transaction);
struct oxfs_open *oxfs_open_for(struct inode *inode, bool writing);
int oxfs_opens_reclaim(struct oxfs_session *session);

/* pages.c */
int oxfs_pages_mmap(struct file *file, struct vm_area_struct *vma);
int oxfs_pages_clear_tail(struct inode *inode, loff_t at);
/* writeback.c */
int oxfs_writepages(struct address_space *mapping, struct writeback_control *control);
int oxfs_launder(struct folio *folio);
int oxfs_inode_sync(struct inode *inode, struct oxfs_open *open, bool data_only);
void oxfs_inode_writes(struct inode *inode);
void oxfs_inode_written(struct inode *inode);
void oxfs_inode_wrote(struct inode *inode);

/* direct.c */
ssize_t oxfs_direct_read(struct kiocb *iocb, struct iov_iter *to);
ssize_t oxfs_direct_write(struct kiocb *iocb, struct iov_iter *from);

/* lock.c */
int oxfs_lock(struct file *file, int command, struct file_lock *lock);
int oxfs_flock(struct file *file, int command, struct file_lock *lock);
int oxfs_locks_reclaim(struct oxfs_open *open);

/* count.c */
enum oxfs_count {
	OXFS_COUNT_REQUESTS, /* sent, with repetitions */
	OXFS_COUNT_REPEATED,
	OXFS_COUNT_BYTES_IN, /* of data, to pages */
	OXFS_COUNT_BYTES_OUT,
	OXFS_COUNT_BOUNCED, /* of these, through oxk's buffer */
	OXFS_COUNT_PAGES_PINNED, /* of programs */
	OXFS_COUNT_WAKEUPS,
	OXFS_COUNT_RECONNECTS,
	OXFS_COUNT_RECALLS,
	OXFS_COUNT_REFUSED, /* replies that make no sense */
	OXFS_COUNT_ALIVE, /* transactions that exist */
	OXFS_COUNTS,
};
extern atomic64_t oxfs_counts[OXFS_COUNTS];
void oxfs_counts_add(struct oxfs_session *session);
void oxfs_counts_remove(struct oxfs_session *session);
void oxfs_counts_begin(struct oxfs_session *session, struct oxk_endpoint *endpoint);
void oxfs_counts_keep(struct oxfs_session *session);
void oxfs_counts_init(void);
void oxfs_counts_exit(void);

static inline void oxfs_count(enum oxfs_count which, u64 n)
{
	atomic64_add(n, &oxfs_counts[which]);
}

#endif
