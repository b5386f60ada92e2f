// SPDX-License-Identifier: GPL-2.0
/*
 * direct.c: reading and writing past the page cache, between the socket and the pages of the
 * program. Pages belong to their transaction: a program that is killed leaves them to it. Kernel
 * memory (a pipe, a loop device) goes through a buffer instead.
 *
 * Before, dirty pages are written; after a write, cached ones of the range are dropped. Nothing has
 * to be aligned.
 *
 * Appends come here, too. The server puts them at the end that the file has there, so that clients
 * do not overwrite each other, and its answer says where that was.
 */
#include <linux/pagemap.h>
#include <linux/slab.h>
#include <linux/uio.h>

#include "oxfs_client.h"

struct oxfs_direct {
	struct kiocb *iocb;
	struct iov_iter *iter;
	struct page **pages; /* OXFS_PAGES_MAX */
	bool writing;
	bool append; /* at the end that the server knows */
	bool copied; /* through a buffer, though it is memory of the program */
	bool stable;
	loff_t end; /* of the file, after an append */
};

/* Gives a transaction pages of the program, as many as it can have; how many bytes. */
static ssize_t oxfs_direct_pin(struct oxfs_direct *direct, struct oxfs_transaction *transaction,
			       size_t bytes)
{
	ssize_t got, left;
	size_t offset;
	u32 i;

	got = oxfs_extract(direct->iter, direct->pages, bytes, OXFS_PAGES_MAX, &offset);
	if (got <= 0)
		return got ? got : -EFAULT;
	oxfs_transaction_pages(transaction);
	transaction->pinned = true;
	for (i = 0, left = got; left > 0; i++) {
		struct bio_vec *page = &transaction->pages[i];

		page->bv_page = direct->pages[i];
		page->bv_offset = offset;
		page->bv_len = min_t(size_t, left, PAGE_SIZE - offset);
		left -= page->bv_len;
		offset = 0;
	}
	transaction->n_pages = i;
	oxfs_count(OXFS_COUNT_PAGES_PINNED, i);
	return got;
}

static ssize_t oxfs_direct_copy(struct oxfs_direct *direct, struct oxfs_transaction *transaction,
				size_t bytes)
{
	int error = oxfs_transaction_memory(transaction, bytes, direct->writing);

	if (error)
		return error;
	if (direct->writing && copy_from_iter(transaction->memory, bytes, direct->iter) != bytes)
		return -EFAULT;
	return bytes;
}

static void oxfs_direct_grow(struct inode *inode, loff_t end)
{
	loff_t old = i_size_read(inode);

	if (end <= old)
		return;
	i_size_write(inode, end);
	pagecache_isize_extended(inode, old, end);
}

/* Where a file ends after an append, by the answer to it. */
static loff_t oxfs_direct_end(struct inode *inode, const struct oxfs_transaction *transaction)
{
	const struct oxfs_attr *attr = &transaction->reply.attr;
	u64 changed_at = oxfs_inode_adopt(inode, transaction);
	loff_t end;

	if (!(le32_to_cpu(transaction->reply.flags) & OXFS_REPLY_ATTR))
		return 0;
	end = min_t(u64, le64_to_cpu(attr->size), inode->i_sb->s_maxbytes);
	/* Others may have appended since, of which this side may know already. */
	if (end >= i_size_read(inode))
		oxfs_inode_update(inode, attr, changed_at);
	oxfs_direct_grow(inode, end);
	return end;
}

/* Drops the pages from a place on; who has changed one by a mapping has it written first. */
static void oxfs_direct_drop(struct inode *inode, loff_t first, loff_t last)
{
	if (invalidate_inode_pages2_range(inode->i_mapping, first >> PAGE_SHIFT,
					  last >> PAGE_SHIFT))
		WRITE_ONCE(oxfs_i(inode)->data_stale, true);
}

/* Sends an append. All that is dirty goes first, because it moves the end at the server. No page of
 * the file is read meanwhile: by a mapping, one in which the new bytes are missing could be changed,
 * and written back over them as soon as anybody learns from the server how long the file is now.
 * The memory that is sent has been copied or pinned before, so it causes no fault in here, even if
 * it is a mapping of this very file. */
static int oxfs_direct_call_append(struct oxfs_direct *direct, struct oxfs_transaction *append)
{
	struct inode *inode = append->inode;
	loff_t first = i_size_read(inode);
	int error;

	filemap_invalidate_lock(inode->i_mapping);
	error = filemap_write_and_wait(inode->i_mapping);
	if (!error) {
		oxfs_direct_drop(inode, first, LLONG_MAX);
		error = oxfs_transaction_call(append);
		oxfs_direct_drop(inode, first, LLONG_MAX);
	}
	if (!error)
		direct->end = oxfs_direct_end(inode, append);
	filemap_invalidate_unlock(inode->i_mapping);
	return error;
}

/* Moves one piece at `at`; how many bytes, 0 at the end of the file. */
static ssize_t oxfs_direct_piece(struct oxfs_direct *direct, loff_t at)
{
	struct file *file = direct->iocb->ki_filp;
	struct inode *inode = file_inode(file);
	struct oxfs_session *session = oxfs_session_i(inode);
	size_t bytes = min_t(size_t, iov_iter_count(direct->iter), session->io_bytes_max);
	bool user = user_backed_iter(direct->iter) && !direct->copied;
	struct oxfs_transaction *transaction;
	ssize_t got, moved;
	int error;

	transaction = oxfs_transaction_new(session, direct->writing ? OXFS_WRITE : OXFS_READ,
					   file->f_cred);
	transaction->outward = direct->writing;
	transaction->slot_kind = direct->writing ? OXFS_SLOT_DATA : OXFS_SLOTLESS;
	transaction->orphan = direct->writing ? oxfs_inode_orphan : NULL;
	oxfs_transaction_inode(transaction, inode, oxfs_open_of(file));
	got = user ? oxfs_direct_pin(direct, transaction, bytes)
		   : oxfs_direct_copy(direct, transaction, bytes);
	if (got < 0) {
		oxfs_transaction_put(transaction);
		return got;
	}
	transaction->data_max = got;
	oxfs_transaction_argument(transaction, 0, direct->append ? OXFS_APPEND : at);
	oxfs_transaction_argument(transaction, 1, got);
	oxfs_transaction_argument(transaction, 2, direct->stable);
	error = direct->append ? oxfs_direct_call_append(direct, transaction)
			       : oxfs_transaction_call(transaction);
	if (error) {
		oxfs_transaction_put(transaction);
		return error;
	}
	moved = direct->writing ? min_t(u64, oxfs_value(transaction, 0), got)
				: transaction->data_here;
	if (!user && !direct->writing)
		moved = copy_to_iter(transaction->memory, moved, direct->iter);
	else if (moved < got)
		iov_iter_revert(direct->iter, got - moved);
	if (direct->writing && !direct->append)
		oxfs_inode_adopt(inode, transaction);
	if (direct->writing)
		oxfs_inode_written(inode);
	oxfs_transaction_put(transaction);
	return moved;
}

static ssize_t oxfs_direct_all(struct kiocb *iocb, struct iov_iter *iter, bool writing)
{
	struct oxfs_direct direct = { .iocb = iocb, .iter = iter, .writing = writing };
	ssize_t total = 0, moved = 0;

	direct.stable = writing && iocb_is_dsync(iocb);
	direct.append = writing && iocb->ki_flags & IOCB_APPEND;
	direct.copied = direct.append && !(iocb->ki_flags & IOCB_DIRECT);
	direct.pages = kmalloc_array(OXFS_PAGES_MAX, sizeof(struct page *), GFP_KERNEL);
	if (!direct.pages)
		return -ENOMEM;
	while (iov_iter_count(iter)) {
		moved = oxfs_direct_piece(&direct, iocb->ki_pos + total);
		if (moved <= 0)
			break;
		total += moved;
	}
	kfree(direct.pages);
	/* A server that writes nothing and says nothing would have us try for ever. */
	if (!total && writing && !moved)
		moved = -EIO;
	if (!total)
		return moved;
	if (direct.append)
		iocb->ki_pos = max_t(loff_t, direct.end, total);
	else
		iocb->ki_pos += total;
	return total;
}

ssize_t oxfs_direct_read(struct kiocb *iocb, struct iov_iter *to)
{
	struct inode *inode = file_inode(iocb->ki_filp);
	ssize_t result;

	if (!iov_iter_count(to))
		return 0;
	inode_lock_shared(inode);
	/* All of it: where the file ends, the server knows only then. */
	result = filemap_write_and_wait(inode->i_mapping);
	if (!result)
		result = oxfs_direct_all(iocb, to, false);
	inode_unlock_shared(inode);
	return result;
}

static ssize_t oxfs_direct_write_at(struct kiocb *iocb, struct iov_iter *from)
{
	struct inode *inode = file_inode(iocb->ki_filp);
	loff_t at = iocb->ki_pos, end = at + iov_iter_count(from) - 1;
	ssize_t result = oxfs_pages_clear_tail(inode, at);

	if (!result)
		result = filemap_write_and_wait_range(inode->i_mapping, at, end);
	if (result)
		return result;
	oxfs_direct_drop(inode, at, end);
	oxfs_inode_changed(inode);
	oxfs_inode_writes(inode);
	result = oxfs_direct_all(iocb, from, true);
	oxfs_inode_wrote(inode);
	oxfs_direct_drop(inode, at, end);
	if (result > 0)
		oxfs_direct_grow(inode, iocb->ki_pos);
	oxfs_inode_changed(inode);
	return result;
}

static ssize_t oxfs_direct_append(struct kiocb *iocb, struct iov_iter *from)
{
	struct inode *inode = file_inode(iocb->ki_filp);
	ssize_t result;

	oxfs_inode_changed(inode);
	oxfs_inode_writes(inode);
	result = oxfs_direct_all(iocb, from, true);
	oxfs_inode_wrote(inode);
	if (result <= 0)
		oxfs_inode_changed(inode);
	return result;
}

static ssize_t oxfs_direct_write_locked(struct kiocb *iocb, struct iov_iter *from)
{
	struct file *file = iocb->ki_filp;
	struct inode *inode = file_inode(file);
	bool append = iocb->ki_flags & IOCB_APPEND;
	ssize_t result = append ? oxfs_inode_refresh(inode, false) : 0;

	if (!result)
		result = generic_write_checks(iocb, from);
	if (result <= 0)
		return result;
	result = file_remove_privs(file);
	if (result)
		return result;
	return append ? oxfs_direct_append(iocb, from) : oxfs_direct_write_at(iocb, from);
}

ssize_t oxfs_direct_write(struct kiocb *iocb, struct iov_iter *from)
{
	struct inode *inode = file_inode(iocb->ki_filp);
	ssize_t result;

	inode_lock(inode);
	result = oxfs_direct_write_locked(iocb, from);
	inode_unlock(inode);
	return result > 0 ? generic_write_sync(iocb, result) : result;
}
