// SPDX-License-Identifier: GPL-2.0
/*
 * open.c: opens at the server. One belongs to a file here, and to transactions that name it; when
 * all have let go of it, CLOSE is sent by a work item. After the server was started again, every
 * open is reclaimed and may get another number.
 */
#include <linux/pagemap.h>
#include <linux/slab.h>

#include "oxfs_client.h"

/* What the server is told. Pages are read before a part of them is written, so who writes also
 * reads; appending is decided here. */
u32 oxfs_open_flags(u32 flags)
{
	u32 mode = flags & O_ACCMODE;

	return (mode == O_WRONLY || mode == O_ACCMODE ? O_RDWR : mode) | (flags & O_DIRECTORY);
}

/* A file that is not open yet; NULL: no memory. */
struct oxfs_file *oxfs_file_new(struct inode *inode, u32 flags, const struct cred *cred)
{
	struct oxfs_file *file = kzalloc(sizeof(*file), GFP_KERNEL);
	struct oxfs_open *open = kzalloc(sizeof(*open), GFP_KERNEL);

	if (!file || !open) {
		kfree(file);
		kfree(open);
		return NULL;
	}
	refcount_set(&open->references, 1);
	INIT_LIST_HEAD(&open->of_session);
	INIT_LIST_HEAD(&open->of_inode);
	open->session = oxfs_session_i(inode);
	open->cred = get_cred(cred);
	open->flags = oxfs_open_flags(flags);
	mutex_init(&file->lock);
	file->open = open;
	return file;
}

/* The server has opened it. */
void oxfs_file_opened(struct oxfs_file *file, struct inode *inode, u64 id)
{
	struct oxfs_open *open = file->open;
	struct oxfs_session *session = open->session;

	spin_lock(&session->inodes_lock);
	open->inode = inode;
	spin_unlock(&session->inodes_lock);
	spin_lock_bh(&session->lock);
	open->id = id;
	open->node = oxfs_i(inode)->node;
	open->epoch = session->epoch;
	list_add_tail(&open->of_session, &session->opens);
	list_add_tail(&open->of_inode, &oxfs_i(inode)->opens);
	spin_unlock_bh(&session->lock);
}

/* ---- closing ------------------------------------------------------------------------------ */

/* Tells the server. Nobody waits for its answer. */
void oxfs_open_close(struct oxfs_session *session, u64 id)
{
	struct oxfs_transaction *close =
		oxfs_transaction_new(session, OXFS_CLOSE, oxfs_kernel_cred);

	close->slot_kind = OXFS_SLOT_NAMES;
	close->request.open = cpu_to_le64(id);
	oxfs_transaction_submit(close, false);
	oxfs_transaction_put(close);
}

static void oxfs_open_close_work(struct work_struct *work)
{
	struct oxfs_open *open = container_of(work, struct oxfs_open, close);

	if (open->id)
		oxfs_open_close(open->session, open->id);
	put_cred(open->cred);
	kfree(open);
}

/* Any context. */
void oxfs_open_put(struct oxfs_open *open)
{
	struct oxfs_session *session = open->session;

	if (!refcount_dec_and_test(&open->references))
		return;
	spin_lock_bh(&session->lock);
	list_del_init(&open->of_session);
	spin_unlock_bh(&session->lock);
	INIT_WORK(&open->close, oxfs_open_close_work);
	queue_work(session->leavers, &open->close);
}

void oxfs_file_free(struct oxfs_file *file)
{
	struct oxfs_open *open = file->open;

	spin_lock(&open->session->inodes_lock);
	open->inode = NULL;
	spin_unlock(&open->session->inodes_lock);
	spin_lock_bh(&open->session->lock);
	list_del_init(&open->of_inode);
	spin_unlock_bh(&open->session->lock);
	oxfs_open_put(open);
	kvfree(file->entries);
	kfree(file);
}

/* The process that opened it was killed meanwhile. */
void oxfs_open_orphan(struct oxfs_transaction *transaction)
{
	u64 id = le64_to_cpu(transaction->reply.open);

	if (id)
		oxfs_open_close(transaction->session, id);
}

/* The last use of an open file, a mapping being one. What a mapping has stored since the descriptor
 * was closed goes to the server before the open does, in the name of who has opened it: without an
 * open it would be written as nobody in particular, who may not. Errors are for who syncs. */
int oxfs_file_release(struct inode *inode, struct file *file)
{
	if (S_ISREG(inode->i_mode) && file->f_mode & FMODE_WRITE) {
		filemap_fdatawrite(inode->i_mapping);
		filemap_fdatawait_keep_errors(inode->i_mapping);
	}
	if (file->private_data)
		oxfs_file_free(file->private_data);
	return 0;
}

/* ---- opening ------------------------------------------------------------------------------ */

static int oxfs_open_ask(struct inode *inode, struct oxfs_file *file)
{
	struct oxfs_transaction *ask =
		oxfs_transaction_new(oxfs_session_i(inode), OXFS_OPEN, file->open->cred);
	int error;

	ask->slot_kind = OXFS_SLOT_NAMES;
	ask->orphan = oxfs_open_orphan;
	oxfs_transaction_inode(ask, inode, NULL);
	oxfs_transaction_argument(ask, 0, file->open->flags);
	error = oxfs_transaction_call(ask);
	if (!error && !ask->reply.open)
		error = -EIO;
	if (!error) {
		oxfs_file_opened(file, inode, le64_to_cpu(ask->reply.open));
		if (le32_to_cpu(ask->reply.flags) & OXFS_REPLY_ATTR)
			error = oxfs_inode_update(inode, &ask->reply.attr, ask->asked_at);
		/* What others have closed before has to be known. */
		if (error > 0)
			error = oxfs_inode_refresh(inode, true);
	}
	oxfs_transaction_put(ask);
	return error;
}

int oxfs_file_open(struct inode *inode, struct file *file)
{
	struct oxfs_file *fresh = oxfs_file_new(inode, file->f_flags, file->f_cred);
	int error;

	if (!fresh)
		return -ENOMEM;
	if (S_ISDIR(inode->i_mode))
		fresh->open->flags = O_RDONLY | O_DIRECTORY;
	error = oxfs_open_ask(inode, fresh);
	/* Who may write and not read writes through, without pages. One that the server has opened
	 * failed by something else. */
	if (error == -EACCES && !fresh->open->id && (file->f_flags & O_ACCMODE) == O_WRONLY) {
		fresh->open->flags = (fresh->open->flags & ~O_ACCMODE) | O_WRONLY;
		error = oxfs_open_ask(inode, fresh);
	}
	if (!error)
		error = oxfs_inode_drop_stale(inode);
	if (!error)
		error = generic_file_open(inode, file);
	if (error) {
		oxfs_file_free(fresh);
		return error;
	}
	file->private_data = fresh;
	if (S_ISREG(inode->i_mode))
		file->f_mode |= FMODE_CAN_ODIRECT;
	return 0;
}

/* An open of an inode by which it can be read or written, held; NULL: there is none. */
struct oxfs_open *oxfs_open_for(struct inode *inode, bool writing)
{
	struct oxfs_session *session = oxfs_session_i(inode);
	struct oxfs_open *open, *found = NULL;

	spin_lock_bh(&session->lock);
	list_for_each_entry(open, &oxfs_i(inode)->opens, of_inode) {
		u32 mode = open->flags & O_ACCMODE;

		if (mode == O_RDWR || mode == (writing ? O_WRONLY : O_RDONLY)) {
			refcount_inc(&open->references);
			found = open;
			break;
		}
	}
	spin_unlock_bh(&session->lock);
	return found;
}

/* ---- after a restart of the server -------------------------------------------------------- */

static struct oxfs_open *oxfs_open_next(struct oxfs_session *session)
{
	struct oxfs_open *open, *found = NULL;

	spin_lock_bh(&session->lock);
	list_for_each_entry(open, &session->opens, of_session) {
		if (open->epoch != session->epoch && refcount_inc_not_zero(&open->references)) {
			open->epoch = session->epoch;
			found = open;
			break;
		}
	}
	spin_unlock_bh(&session->lock);
	return found;
}

/* Opens it under its old number, or, if the server knows nothing of that, anew (`old` is 0). */
static int oxfs_open_again(struct oxfs_session *session, struct oxfs_open *open, u64 old)
{
	struct oxfs_transaction *ask = oxfs_transaction_new(session, OXFS_OPEN, open->cred);
	int error;

	ask->request.node = cpu_to_le64(open->node);
	oxfs_transaction_argument(ask, 0, open->flags);
	oxfs_transaction_argument(ask, 1, old);
	error = oxfs_transaction_special(ask, session->options.timeo);
	if (!error && ask->reply.open)
		WRITE_ONCE(open->id, le64_to_cpu(ask->reply.open));
	/* Memory of one that is not over is oxk's until then. */
	if (!completion_done(&ask->over)) {
		oxfs_session_close(session);
		error = -ENOTCONN;
	}
	oxfs_transaction_put(ask);
	return error;
}

/* One that cannot be had again keeps its number, which the server answers with its error. */
static int oxfs_open_reclaim(struct oxfs_session *session, struct oxfs_open *open)
{
	int error = oxfs_open_again(session, open, open->id);

	if (error && error != -ENOTCONN)
		error = oxfs_open_again(session, open, 0);
	if (error == -ENOTCONN)
		return error;
	if (error) {
		pr_warn_ratelimited("oxfs: %s: an open file could not be opened again: error %d\n",
				    session->host, error);
		return 0;
	}
	return oxfs_locks_reclaim(open);
}

int oxfs_opens_reclaim(struct oxfs_session *session)
{
	struct oxfs_open *open;
	int error = 0;

	while (!error && (open = oxfs_open_next(session))) {
		error = oxfs_open_reclaim(session, open);
		oxfs_open_put(open);
	}
	return error;
}
