// SPDX-License-Identifier: GPL-2.0
/*
 * lock.c: advisory locks. The server grants them; what it has granted is also kept in the kernel's
 * own lists, from which locks are reclaimed after a restart of the server. A lock is a moment of
 * consistency: who gets one sees what the last holder wrote, and who lets go of one has written.
 */
#include <linux/pagemap.h>
#include <linux/slab.h>

#include "oxfs_client.h"

#define OXFS_LAST_BYTE ((u64)OFFSET_MAX)

/* Addresses of the kernel are not for the server. */
static u64 oxfs_owner(struct oxfs_session *session, const struct file_lock *lock, bool whole)
{
	const void *owner = whole ? (const void *)oxfs_lock_file(lock)
				  : (const void *)oxfs_lock_owner(lock);

	return (u64)(unsigned long)owner ^ session->secret;
}

static struct oxfs_transaction *oxfs_lock_new(struct oxfs_open *open, u32 operation,
					      const struct file_lock *lock, u32 flags)
{
	struct oxfs_session *session = open->session;
	struct oxfs_transaction *transaction = oxfs_transaction_new(session, operation, open->cred);

	oxfs_transaction_open(transaction, open);
	oxfs_transaction_argument(transaction, 0,
				  oxfs_owner(session, lock, flags & OXFS_LOCK_WHOLE));
	oxfs_transaction_argument(transaction, 1, oxfs_lock_type(lock));
	oxfs_transaction_argument(transaction, 2, lock->fl_start);
	oxfs_transaction_argument(transaction, 3, lock->fl_end);
	oxfs_transaction_argument(transaction, 4, flags);
	return transaction;
}

/* A lock was granted to who had given up waiting. */
static void oxfs_lock_orphan(struct oxfs_transaction *granted)
{
	struct oxfs_transaction *unlock =
		oxfs_transaction_new(granted->session, OXFS_LOCK, oxfs_kernel_cred);

	oxfs_transaction_open(unlock, granted->open);
	unlock->slot_kind = OXFS_SLOT_NAMES;
	memcpy(unlock->request.arguments, granted->request.arguments,
	       sizeof(unlock->request.arguments));
	oxfs_transaction_argument(unlock, 1, F_UNLCK);
	oxfs_transaction_submit(unlock, false);
	oxfs_transaction_put(unlock);
}

static void oxfs_lock_leave_work(struct work_struct *work)
{
	struct oxfs_transaction *unlock = container_of(work, struct oxfs_transaction, work);

	oxfs_transaction_submit(unlock, false);
	oxfs_transaction_put(unlock);
}

static int oxfs_lock_ask(struct file *file, const struct file_lock *lock, u32 flags)
{
	struct oxfs_transaction *transaction =
		oxfs_lock_new(oxfs_open_of(file), OXFS_LOCK, lock, flags);
	bool unlock = oxfs_lock_type(lock) == F_UNLCK;
	int error;

	transaction->slot_kind = OXFS_SLOT_NAMES;
	if (!unlock)
		transaction->orphan = oxfs_lock_orphan;
	error = oxfs_transaction_submit(transaction, true);
	/* A process that is being killed waits for no slot, but what it has locked is let go of. */
	if (error == -EINTR && unlock) {
		INIT_WORK(&transaction->work, oxfs_lock_leave_work);
		queue_work(transaction->session->leavers, &transaction->work);
		return error;
	}
	if (!error)
		error = oxfs_transaction_wait(transaction, false);
	oxfs_transaction_put(transaction);
	return error;
}

/* Behind the last byte that a lock can have. */
#define OXFS_NO_BYTE (~0ull)

/* Ends a wait that was interrupted, by letting go of a byte that no lock has: the server ends all
 * waits of an owner that unlocks anything. */
static void oxfs_lock_stop_waiting(struct file *file, const struct file_lock *lock, u32 flags)
{
	struct oxfs_transaction *transaction =
		oxfs_lock_new(oxfs_open_of(file), OXFS_LOCK, lock, flags);

	transaction->slot_kind = OXFS_SLOT_NAMES;
	oxfs_transaction_argument(transaction, 1, F_UNLCK);
	oxfs_transaction_argument(transaction, 2, OXFS_NO_BYTE);
	oxfs_transaction_argument(transaction, 3, OXFS_NO_BYTE);
	oxfs_transaction_submit(transaction, false);
	oxfs_transaction_put(transaction);
}

static int oxfs_lock_wait(struct file *file, const struct file_lock *lock, u32 flags)
{
	struct oxfs_session *session = oxfs_session_i(file_inode(file));
	struct oxfs_transaction *transaction;
	int error;

	transaction = oxfs_lock_new(oxfs_open_of(file), OXFS_LOCK, lock,
				    flags | OXFS_LOCK_WAIT);
	/* It may take for ever, and to be granted the same lock twice is to have it. */
	transaction->room = &session->lock_waits;
	transaction->endless = true;
	transaction->orphan = oxfs_lock_orphan;
	error = oxfs_transaction_submit(transaction, true);
	if (!error)
		error = oxfs_transaction_wait(transaction, true);
	if (error == -ERESTARTSYS || error == -EINTR)
		oxfs_lock_stop_waiting(file, lock, flags);
	oxfs_transaction_put(transaction);
	return error;
}

/* What the last holder wrote is to be seen. */
static int oxfs_lock_gained(struct file *file)
{
	struct inode *inode = file_inode(file);
	int error = filemap_write_and_wait(inode->i_mapping);

	if (!error)
		error = oxfs_inode_refresh(inode, true);
	return error ? error : oxfs_inode_drop_stale(inode);
}

/* Whether the kernel's own lists have a lock of the same owner in the same place. */
static bool oxfs_lock_is_kept(struct file *file, const struct file_lock *lock, bool whole)
{
	struct file_lock_context *context = smp_load_acquire(&file_inode(file)->i_flctx);
	struct file_lock *other;
	bool is = false;

	if (!context)
		return false;
	spin_lock(&context->flc_lock);
	oxfs_for_each_lock(other, whole ? &context->flc_flock : &context->flc_posix) {
		if (whole)
			is |= oxfs_lock_file(other) == oxfs_lock_file(lock);
		else
			is |= oxfs_lock_owner(other) == oxfs_lock_owner(lock) &&
			      other->fl_start <= lock->fl_end && lock->fl_start <= other->fl_end;
	}
	spin_unlock(&context->flc_lock);
	return is;
}

/* The server has granted a lock that could not be kept here: nothing here would ever let go of it,
 * unless the owner has had another in its place, which is let go of together with it. Also for a
 * process that is being killed. */
static void oxfs_lock_give_back(struct file *file, const struct file_lock *lock, u32 flags)
{
	struct oxfs_transaction *unlock;

	if (oxfs_lock_is_kept(file, lock, flags & OXFS_LOCK_WHOLE))
		return;
	unlock = oxfs_lock_new(oxfs_open_of(file), OXFS_LOCK, lock, flags);
	unlock->slot_kind = OXFS_SLOT_NAMES;
	oxfs_transaction_argument(unlock, 1, F_UNLCK);
	/* The owner's next lock is not to be overtaken by it. */
	if (!oxfs_transaction_submit(unlock, false))
		oxfs_transaction_wait(unlock, false);
	oxfs_transaction_put(unlock);
}

static int oxfs_lock_set(struct file *file, struct file_lock *lock, bool wait, u32 flags)
{
	bool unlock = oxfs_lock_type(lock) == F_UNLCK;
	int error;

	if (unlock) {
		/* Its error is for who syncs or closes. */
		filemap_fdatawrite(file->f_mapping);
		filemap_fdatawait_keep_errors(file->f_mapping);
		error = locks_lock_file_wait(file, lock);
		return error ? error : oxfs_lock_ask(file, lock, flags);
	}
	error = wait ? oxfs_lock_wait(file, lock, flags) : oxfs_lock_ask(file, lock, flags);
	if (error)
		return error;
	/* The server has granted it, so nobody on this side holds another. */
	error = locks_lock_file_wait(file, lock);
	if (error) {
		oxfs_lock_give_back(file, lock, flags);
		return error;
	}
	return oxfs_lock_gained(file);
}

static int oxfs_lock_test(struct file *file, struct file_lock *lock)
{
	struct oxfs_transaction *ask =
		oxfs_lock_new(oxfs_open_of(file), OXFS_TESTLOCK, lock, 0);
	int error = oxfs_transaction_call(ask);
	u64 type, first, last;

	if (!error) {
		type = oxfs_value(ask, 0);
		first = oxfs_value(ask, 1);
		last = min(oxfs_value(ask, 2), OXFS_LAST_BYTE);
		if (type == F_RDLCK || type == F_WRLCK) {
			lock->fl_start = min(first, last);
			lock->fl_end = last;
			/* The process is one of another machine. */
			oxfs_lock_set_conflict(lock, type,
					       -(pid_t)(oxfs_value(ask, 3) & 0x3fffffff));
		} else {
			oxfs_lock_set_conflict(lock, F_UNLCK, 0);
		}
	}
	oxfs_transaction_put(ask);
	return error;
}

int oxfs_lock(struct file *file, int command, struct file_lock *lock)
{
	if (!(oxfs_lock_flags(lock) & FL_POSIX))
		return -ENOLCK;
	if (IS_GETLK(command)) {
		struct file_lock mine = *lock;

		posix_test_lock(file, &mine);
		if (oxfs_lock_type(&mine) == F_UNLCK)
			return oxfs_lock_test(file, lock);
		posix_test_lock(file, lock);
		return 0;
	}
	return oxfs_lock_set(file, lock, IS_SETLKW(command), 0);
}

int oxfs_flock(struct file *file, int command, struct file_lock *lock)
{
	if (!(oxfs_lock_flags(lock) & FL_FLOCK))
		return -ENOLCK;
	return oxfs_lock_set(file, lock, IS_SETLKW(command), OXFS_LOCK_WHOLE);
}

/* ---- after a restart of the server -------------------------------------------------------- */

static int oxfs_lock_reclaim(struct oxfs_open *open, const struct file_lock *lock, u32 flags)
{
	struct oxfs_session *session = open->session;
	struct oxfs_transaction *transaction =
		oxfs_lock_new(open, OXFS_LOCK, lock, flags | OXFS_LOCK_RECLAIM);
	int error = oxfs_transaction_special(transaction, session->options.timeo);

	if (!completion_done(&transaction->over)) {
		oxfs_session_close(session);
		error = -ENOTCONN;
	}
	oxfs_transaction_put(transaction);
	if (error && error != -ENOTCONN) {
		pr_warn_ratelimited("oxfs: %s: a lock is lost: error %d\n", session->host, error);
		error = 0;
	}
	return error;
}

/* Copies those locks of an open that stand in a list, as many as there is room for; how many there
 * are. */
static u32 oxfs_locks_copy(const struct oxfs_open *open, struct list_head *list,
			   struct file_lock *to, u32 room)
{
	struct file_lock *lock;
	u32 n = 0;

	oxfs_for_each_lock(lock, list) {
		struct oxfs_file *file = oxfs_lock_file(lock)->private_data;

		if (!file || file->open != open)
			continue;
		if (n < room)
			to[n] = *lock;
		n++;
	}
	return n;
}

/* The same of both lists of its inode. The file has the inode for as long as it is open; to hold it
 * here would be to let go of it here, perhaps as the last, and to wait for pages that are read by
 * the connection that is being mended. */
static u32 oxfs_locks_look(struct oxfs_open *open, struct file_lock *to, u32 room, u32 *n_posix)
{
	struct oxfs_session *session = open->session;
	struct file_lock_context *context;
	u32 n = 0, at;

	*n_posix = 0;
	spin_lock(&session->inodes_lock);
	context = open->inode ? smp_load_acquire(&open->inode->i_flctx) : NULL;
	if (context) {
		spin_lock(&context->flc_lock);
		n = oxfs_locks_copy(open, &context->flc_posix, to, room);
		at = *n_posix = min(n, room);
		n += oxfs_locks_copy(open, &context->flc_flock, to + at, room - at);
		spin_unlock(&context->flc_lock);
	}
	spin_unlock(&session->inodes_lock);
	return n;
}

/* Of an open: as many locks as the server lets a session have. */
#define OXFS_RECLAIMED_MAX 16384u
/* Locks that come to be while they are counted: an unlock of the middle of one makes it two. */
#define OXFS_RECLAIMED_MORE 16u

int oxfs_locks_reclaim(struct oxfs_open *open)
{
	struct file_lock *locks;
	u32 n_posix, n, room, i;
	int error = 0;

	n = oxfs_locks_look(open, NULL, 0, &n_posix);
	if (!n)
		return 0;
	room = min(n, OXFS_RECLAIMED_MAX) + OXFS_RECLAIMED_MORE;
	locks = kvmalloc_array(room, sizeof(*locks), GFP_NOFS);
	if (!locks)
		return -ENOMEM;
	n = oxfs_locks_look(open, locks, room, &n_posix);
	if (n > room)
		pr_warn_ratelimited("oxfs: %s: of %u locks of a file, %u are lost\n",
				    open->session->host, n, n - room);
	n = min(n, room);
	for (i = 0; i < n && !error; i++)
		error = oxfs_lock_reclaim(open, &locks[i], i < n_posix ? 0 : OXFS_LOCK_WHOLE);
	kvfree(locks);
	return error;
}
