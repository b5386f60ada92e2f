// SPDX-License-Identifier: GPL-2.0
/*
 * file.c: what programs do with an open file. Reading and writing go through the page cache, or
 * past it (O_DIRECT, -o cache=none, and files that may be written but not read).
 */
#include <linux/types.h>
#include <linux/falloc.h>
#include <linux/pagemap.h>
#include <linux/splice.h>

#include "oxfs_client.h"

static bool oxfs_goes_direct(const struct kiocb *iocb)
{
	return iocb->ki_flags & IOCB_DIRECT ||
	       oxfs_session_i(file_inode(iocb->ki_filp))->options.no_cache;
}

static ssize_t oxfs_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	struct inode *inode = file_inode(iocb->ki_filp);
	int error;

	if (oxfs_goes_direct(iocb))
		return oxfs_direct_read(iocb, to);
	error = oxfs_inode_refresh(inode, false);
	if (!error)
		error = oxfs_inode_drop_stale(inode);
	return error ? error : generic_file_read_iter(iocb, to);
}

static ssize_t oxfs_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	struct file *file = iocb->ki_filp;
	struct inode *inode = file_inode(file);
	ssize_t result;

	/* Where the end is, only the server knows: others may append, too. */
	if (oxfs_goes_direct(iocb) || iocb->ki_flags & IOCB_APPEND ||
	    (oxfs_open_of(file)->flags & O_ACCMODE) == O_WRONLY)
		return oxfs_direct_write(iocb, from);
	inode_lock(inode);
	result = oxfs_inode_drop_stale(inode);
	if (!result)
		result = generic_write_checks(iocb, from);
	if (result > 0) {
		int error = oxfs_pages_clear_tail(inode, iocb->ki_pos);

		result = error ? error : __generic_file_write_iter(iocb, from);
	}
	inode_unlock(inode);
	return result > 0 ? generic_write_sync(iocb, result) : result;
}

static int oxfs_fsync(struct file *file, loff_t start, loff_t end, int data_only)
{
	int error = file_write_and_wait_range(file, start, end);

	return error ? error : oxfs_inode_sync(file_inode(file), oxfs_open_of(file), data_only);
}

/* close: the next who opens it anywhere sees what was written. */
static int oxfs_flush(struct file *file, fl_owner_t owner)
{
	struct address_space *mapping = file->f_mapping;
	int error;

	if (!(file->f_mode & FMODE_WRITE))
		return 0;
	error = filemap_write_and_wait(mapping);
	return error ? error : filemap_check_wb_err(mapping, file->f_wb_err);
}

static long oxfs_fallocate(struct file *file, int mode, loff_t offset, loff_t bytes)
{
	struct inode *inode = file_inode(file);
	struct oxfs_transaction *transaction;
	loff_t end = offset + bytes;
	int error;

	if (mode & ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE |
		     FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE))
		return -EOPNOTSUPP;
	inode_lock(inode);
	filemap_invalidate_lock(inode->i_mapping);
	error = mode & FALLOC_FL_KEEP_SIZE ? 0 : inode_newsize_ok(inode, end);
	if (!error)
		error = filemap_write_and_wait(inode->i_mapping);
	if (error)
		goto out;
	oxfs_inode_changed(inode);
	transaction = oxfs_transaction_new(oxfs_session_i(inode), OXFS_FALLOCATE, file->f_cred);
	transaction->slot_kind = OXFS_SLOT_NAMES;
	transaction->orphan = oxfs_inode_orphan;
	oxfs_transaction_inode(transaction, inode, oxfs_open_of(file));
	oxfs_transaction_argument(transaction, 0, mode);
	oxfs_transaction_argument(transaction, 1, offset);
	oxfs_transaction_argument(transaction, 2, bytes);
	error = oxfs_transaction_call(transaction);
	if (!error) {
		oxfs_inode_adopt(inode, transaction);
		if (mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE))
			truncate_pagecache(inode, round_down(offset, PAGE_SIZE));
		else if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
			truncate_pagecache_range(inode, offset, end - 1);
		if (mode & FALLOC_FL_COLLAPSE_RANGE)
			i_size_write(inode, i_size_read(inode) - bytes);
		else if (mode & FALLOC_FL_INSERT_RANGE)
			i_size_write(inode, i_size_read(inode) + bytes);
		else if (!(mode & FALLOC_FL_KEEP_SIZE) && end > i_size_read(inode))
			i_size_write(inode, end);
		oxfs_inode_changed(inode);
		oxfs_inode_writes(inode);
		oxfs_inode_written(inode);
		oxfs_inode_wrote(inode);
	}
	oxfs_transaction_put(transaction);
out:
	filemap_invalidate_unlock(inode->i_mapping);
	inode_unlock(inode);
	return error;
}

static loff_t oxfs_seek_data(struct file *file, loff_t offset, int whence)
{
	struct inode *inode = file_inode(file);
	struct oxfs_transaction *ask;
	loff_t result;
	int error;

	inode_lock(inode);
	error = filemap_write_and_wait(inode->i_mapping);
	if (error)
		goto out;
	ask = oxfs_transaction_new(oxfs_session_i(inode), OXFS_SEEK, file->f_cred);
	oxfs_transaction_inode(ask, inode, oxfs_open_of(file));
	oxfs_transaction_argument(ask, 0, offset);
	oxfs_transaction_argument(ask, 1, whence);
	error = oxfs_transaction_call(ask);
	result = oxfs_value(ask, 0);
	oxfs_transaction_put(ask);
	if (!error)
		result = vfs_setpos(file, result, inode->i_sb->s_maxbytes);
out:
	inode_unlock(inode);
	return error ? error : result;
}

static loff_t oxfs_llseek(struct file *file, loff_t offset, int whence)
{
	int error;

	if (whence == SEEK_DATA || whence == SEEK_HOLE)
		return offset < 0 ? -ENXIO : oxfs_seek_data(file, offset, whence);
	if (whence == SEEK_END) {
		error = oxfs_inode_refresh(file_inode(file), false);
		if (error)
			return error;
	}
	return generic_file_llseek(file, offset, whence);
}

const struct file_operations oxfs_file_operations = {
	.owner = THIS_MODULE,
	.open = oxfs_file_open,
	.release = oxfs_file_release,
	.flush = oxfs_flush,
	.llseek = oxfs_llseek,
	.read_iter = oxfs_read_iter,
	.write_iter = oxfs_write_iter,
	.mmap = oxfs_pages_mmap,
	.fsync = oxfs_fsync,
	.fallocate = oxfs_fallocate,
	.splice_read = oxfs_splice_read,
	.splice_write = iter_file_splice_write,
	.lock = oxfs_lock,
	.flock = oxfs_flock,
	.setlease = simple_nosetlease,
};

const struct inode_operations oxfs_file_inode_operations = {
	.permission = oxfs_permission,
	.getattr = oxfs_getattr,
	.setattr = oxfs_setattr,
	.listxattr = oxfs_listxattr,
};
