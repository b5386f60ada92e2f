// SPDX-License-Identifier: GPL-2.0
/*
 * direct.c: reading and writing past the page cache, between the socket and the pages of the
 * program. Pages belong to their transaction: a program that is killed leaves them to it. Kernel
 * memory (a pipe, a loop device) goes through a buffer instead.
 *
 * Before, dirty pages are written; after a write, cached ones of the range are dropped. Nothing has
 * to be aligned.
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
	bool stable;
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

/* Moves one piece at `at`; how many bytes, 0 at the end of the file. */
static ssize_t oxfs_direct_piece(struct oxfs_direct *direct, loff_t at)
{
	struct file *file = direct->iocb->ki_filp;
	struct inode *inode = file_inode(file);
	struct oxfs_session *session = oxfs_session_i(inode);
	size_t bytes = min_t(size_t, iov_iter_count(direct->iter), session->io_bytes_max);
	bool user = user_backed_iter(direct->iter);
	struct oxfs_transaction *transaction;
	ssize_t got, moved;
	int error;

	transaction = oxfs_transaction_new(session, direct->writing ? OXFS_WRITE : OXFS_READ,
					   file->f_cred);
	transaction->outward = direct->writing;
	transaction->slot_kind = direct->writing ? OXFS_SLOT_DATA : OXFS_SLOTLESS;
	oxfs_transaction_inode(transaction, inode, oxfs_open_of(file));
	got = user ? oxfs_direct_pin(direct, transaction, bytes)
		   : oxfs_direct_copy(direct, transaction, bytes);
	if (got < 0) {
		oxfs_transaction_put(transaction);
		return got;
	}
	transaction->data_max = got;
	oxfs_transaction_argument(transaction, 0, at);
	oxfs_transaction_argument(transaction, 1, got);
	oxfs_transaction_argument(transaction, 2, direct->stable);
	error = oxfs_transaction_call(transaction);
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
	if (direct->writing)
		oxfs_inode_adopt(inode, transaction);
	oxfs_transaction_put(transaction);
	return moved;
}

static ssize_t oxfs_direct_all(struct kiocb *iocb, struct iov_iter *iter, bool writing)
{
	struct oxfs_direct direct = { .iocb = iocb, .iter = iter, .writing = writing };
	ssize_t total = 0, moved = 0;

	direct.stable = writing && iocb_is_dsync(iocb);
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

static ssize_t oxfs_direct_write_locked(struct kiocb *iocb, struct iov_iter *from)
{
	struct file *file = iocb->ki_filp;
	struct inode *inode = file_inode(file);
	struct address_space *mapping = inode->i_mapping;
	ssize_t result;
	loff_t at, end;

	if (iocb->ki_flags & IOCB_APPEND) {
		result = oxfs_inode_refresh(inode, true);
		if (result)
			return result;
	}
	result = generic_write_checks(iocb, from);
	if (result <= 0)
		return result;
	result = file_remove_privs(file);
	at = iocb->ki_pos;
	end = at + iov_iter_count(from) - 1;
	if (!result)
		result = filemap_write_and_wait_range(mapping, at, end);
	if (result)
		return result;
	invalidate_inode_pages2_range(mapping, at >> PAGE_SHIFT, end >> PAGE_SHIFT);
	oxfs_inode_changed(inode);
	oxfs_inode_unsynced(inode);
	result = oxfs_direct_all(iocb, from, true);
	invalidate_inode_pages2_range(mapping, at >> PAGE_SHIFT, end >> PAGE_SHIFT);
	if (result > 0 && iocb->ki_pos > i_size_read(inode)) {
		loff_t old = i_size_read(inode);

		i_size_write(inode, iocb->ki_pos);
		pagecache_isize_extended(inode, old, iocb->ki_pos);
	}
	oxfs_inode_changed(inode);
	return result;
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
