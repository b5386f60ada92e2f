/* SPDX-License-Identifier: GPL-2.0
 *
 * compat.h: what differs between the kernels 6.1 and 6.12. No other file asks for a version.
 */
#ifndef OXFS_COMPAT_H
#define OXFS_COMPAT_H

#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/uio.h>
#include <linux/version.h>
#include <linux/writeback.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#define OXFS_NEW 1
#include <linux/filelock.h>
#else
#define OXFS_NEW 0
#endif

#if OXFS_NEW
/* whose ids a mount shows: oxfs knows none but the kernel's own */
typedef struct mnt_idmap oxfs_idmap;
#define OXFS_HANDLERS const struct xattr_handler *const
typedef struct folio oxfs_dirty; /* what write_cache_pages hands out */

static inline struct folio *oxfs_dirty_folio(oxfs_dirty *dirty)
{
	return dirty;
}

static inline void oxfs_fillattr(oxfs_idmap *idmap, u32 mask, struct inode *inode,
				 struct kstat *stat)
{
	generic_fillattr(idmap, mask, inode, stat);
}

static inline void oxfs_set_times(struct inode *inode, struct timespec64 access,
				  struct timespec64 modified, struct timespec64 changed)
{
	inode_set_atime_to_ts(inode, access);
	inode_set_mtime_to_ts(inode, modified);
	inode_set_ctime_to_ts(inode, changed);
}

/* Who has dirtied a folio that is written back. */
static inline void oxfs_account_owner(struct writeback_control *control, struct folio *folio)
{
	wbc_account_cgroup_owner(control, folio, folio_size(folio));
}

#define oxfs_splice_read filemap_splice_read

static inline u8 oxfs_lock_type(const struct file_lock *lock)
{
	return lock->c.flc_type;
}

static inline u32 oxfs_lock_flags(const struct file_lock *lock)
{
	return lock->c.flc_flags;
}

static inline fl_owner_t oxfs_lock_owner(const struct file_lock *lock)
{
	return lock->c.flc_owner;
}

static inline struct file *oxfs_lock_file(const struct file_lock *lock)
{
	return lock->c.flc_file;
}

static inline void oxfs_lock_set_conflict(struct file_lock *lock, u8 type, pid_t pid)
{
	lock->c.flc_type = type;
	lock->c.flc_pid = pid;
}

#define oxfs_for_each_lock(lock, list) list_for_each_entry(lock, list, c.flc_list)

/* Pages of the process that reads or writes; pinned, so that they may be written at any time. */
static inline ssize_t oxfs_extract(struct iov_iter *iter, struct page **pages, size_t bytes,
				   u32 n_max, size_t *offset)
{
	return iov_iter_extract_pages(iter, &pages, bytes, n_max, 0, offset);
}

static inline void oxfs_extracted_free(struct page **pages, u32 n, bool written)
{
	unpin_user_pages_dirty_lock(pages, n, written);
}
#else
typedef struct user_namespace oxfs_idmap;
#define OXFS_HANDLERS const struct xattr_handler *
typedef struct page oxfs_dirty;

static inline struct folio *oxfs_dirty_folio(oxfs_dirty *dirty)
{
	return page_folio(dirty);
}

static inline void oxfs_fillattr(oxfs_idmap *idmap, u32 mask, struct inode *inode,
				 struct kstat *stat)
{
	generic_fillattr(idmap, inode, stat);
}

static inline void oxfs_set_times(struct inode *inode, struct timespec64 access,
				  struct timespec64 modified, struct timespec64 changed)
{
	inode->i_atime = access;
	inode->i_mtime = modified;
	inode->i_ctime = changed;
}

static inline void oxfs_account_owner(struct writeback_control *control, struct folio *folio)
{
	wbc_account_cgroup_owner(control, folio_page(folio, 0), folio_size(folio));
}

#define oxfs_splice_read generic_file_splice_read

static inline u8 oxfs_lock_type(const struct file_lock *lock)
{
	return lock->fl_type;
}

static inline u32 oxfs_lock_flags(const struct file_lock *lock)
{
	return lock->fl_flags;
}

static inline fl_owner_t oxfs_lock_owner(const struct file_lock *lock)
{
	return lock->fl_owner;
}

static inline struct file *oxfs_lock_file(const struct file_lock *lock)
{
	return lock->fl_file;
}

static inline void oxfs_lock_set_conflict(struct file_lock *lock, u8 type, pid_t pid)
{
	lock->fl_type = type;
	lock->fl_pid = pid;
}

#define oxfs_for_each_lock(lock, list) list_for_each_entry(lock, list, fl_list)

static inline ssize_t oxfs_extract(struct iov_iter *iter, struct page **pages, size_t bytes,
				   u32 n_max, size_t *offset)
{
	return iov_iter_get_pages2(iter, pages, bytes, n_max, offset);
}

static inline void oxfs_extracted_free(struct page **pages, u32 n, bool written)
{
	u32 i;

	for (i = 0; i < n; i++) {
		if (written)
			set_page_dirty_lock(pages[i]);
		put_page(pages[i]);
	}
}
#endif

#endif
