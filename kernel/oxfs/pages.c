// SPDX-License-Identifier: GPL-2.0
/*
 * pages.c: the page cache. Folios are locked from before their READ is asked until its data has
 * been placed in them, by the softirq that receives it; nothing is copied here.
 */
#include <linux/mm.h>
#include <linux/pagemap.h>

#include "oxfs_client.h"

/* ---- reading ------------------------------------------------------------------------------ */

/* The end of a READ into locked folios: what the file does not have is zeros. */
static void oxfs_read_over(struct oxfs_transaction *transaction)
{
	u32 here = transaction->data_here, at = 0, i;

	for (i = 0; i < transaction->n_pages; i++) {
		struct folio *folio = page_folio(transaction->pages[i].bv_page);
		u32 bytes = transaction->pages[i].bv_len;

		if (!transaction->error) {
			if (here < at + bytes)
				folio_zero_segment(folio, here > at ? here - at : 0, bytes);
			flush_dcache_folio(folio);
			folio_mark_uptodate(folio);
		}
		folio_unlock(folio);
		at += bytes;
	}
}

static struct oxfs_transaction *oxfs_read_new(struct inode *inode, struct file *file, loff_t at)
{
	struct oxfs_session *session = oxfs_session_i(inode);
	struct oxfs_transaction *transaction =
		oxfs_transaction_new(session, OXFS_READ, file ? file->f_cred : current_cred());
	struct oxfs_open *open = oxfs_open_for(inode, false);

	/* Locked folios keep the inode. */
	transaction->request.node = cpu_to_le64(oxfs_i(inode)->node);
	transaction->open = open;
	transaction->done = oxfs_read_over;
	oxfs_transaction_argument(transaction, 0, at);
	oxfs_transaction_pages(transaction);
	return transaction;
}

static void oxfs_read_add(struct oxfs_transaction *transaction, struct folio *folio)
{
	struct bio_vec *page = &transaction->pages[transaction->n_pages++];

	page->bv_page = folio_page(folio, 0);
	page->bv_offset = 0;
	page->bv_len = folio_size(folio);
	transaction->data_max += folio_size(folio);
}

static int oxfs_read_begin(struct oxfs_transaction *transaction)
{
	int error;

	oxfs_transaction_argument(transaction, 1, transaction->data_max);
	error = oxfs_transaction_submit(transaction, true);
	if (error) {
		transaction->error = error;
		oxfs_read_over(transaction);
	}
	oxfs_transaction_put(transaction);
	return error;
}

static int oxfs_read_folio(struct file *file, struct folio *folio)
{
	struct oxfs_transaction *transaction =
		oxfs_read_new(folio->mapping->host, file, folio_pos(folio));

	oxfs_read_add(transaction, folio);
	return oxfs_read_begin(transaction);
}

static void oxfs_readahead(struct readahead_control *control)
{
	struct inode *inode = control->mapping->host;
	u32 bytes_max = oxfs_session_i(inode)->io_bytes_max;
	struct oxfs_transaction *transaction = NULL;
	struct folio *folio;

	while ((folio = readahead_folio(control))) {
		if (transaction && (transaction->n_pages == OXFS_PAGES_MAX ||
				    transaction->data_max + folio_size(folio) > bytes_max)) {
			oxfs_read_begin(transaction);
			transaction = NULL;
		}
		if (!transaction)
			transaction = oxfs_read_new(inode, control->file, folio_pos(folio));
		oxfs_read_add(transaction, folio);
	}
	if (transaction)
		oxfs_read_begin(transaction);
}

/* ---- buffered writing --------------------------------------------------------------------- */

/* Reads a locked folio before a part of it is written; locked again on success. */
static int oxfs_fill(struct file *file, struct address_space *mapping, struct folio *folio)
{
	int error = oxfs_read_folio(file, folio);

	if (error)
		return error;
	error = folio_lock_killable(folio);
	if (error)
		return error;
	if (folio->mapping != mapping)
		error = -EAGAIN;
	else if (!folio_test_uptodate(folio))
		error = -EIO;
	/* A mapping may have changed it, and it may be being sent, since it was read. */
	if (error)
		folio_unlock(folio);
	else
		folio_wait_writeback(folio);
	return error;
}

/* Before a write at `at`, with the inode locked. If that is behind the end of the file, what a
 * mapping has written between the end and the end of its page would come into sight: it was never
 * sent, and becomes the zeros that the server has. The end is asked for, lest what another client
 * has appended is taken for such. */
int oxfs_pages_clear_tail(struct inode *inode, loff_t at)
{
	struct folio *folio;
	loff_t size;
	int error;

	if (at <= i_size_read(inode))
		return 0;
	error = oxfs_inode_refresh(inode, false);
	size = i_size_read(inode);
	if (error || at <= size || !offset_in_page(size))
		return error;
	folio = filemap_lock_folio(inode->i_mapping, size >> PAGE_SHIFT);
	if (IS_ERR_OR_NULL(folio))
		return 0;
	if (folio_test_uptodate(folio))
		folio_zero_segment(folio, offset_in_folio(folio, size), folio_size(folio));
	folio_unlock(folio);
	folio_put(folio);
	return 0;
}

static int oxfs_begin(struct file *file, struct address_space *mapping, loff_t at, u32 bytes,
		      struct folio **to)
{
	struct inode *inode = mapping->host;
	struct folio *folio;
	struct page *page;
	size_t from;
	int error;

again:
	page = grab_cache_page_write_begin(mapping, at >> PAGE_SHIFT);
	if (!page)
		return -ENOMEM;
	folio = page_folio(page);
	/* What is being sent must not change. */
	folio_wait_writeback(folio);
	*to = folio;
	from = offset_in_folio(folio, at);
	if (folio_test_uptodate(folio) || (!from && bytes >= folio_size(folio)))
		return 0;
	if (folio_pos(folio) >= i_size_read(inode) || (!from && at + bytes >= i_size_read(inode))) {
		folio_zero_segments(folio, 0, from, from + bytes, folio_size(folio));
		return 0;
	}
	error = oxfs_fill(file, mapping, folio);
	if (!error)
		return 0;
	folio_put(folio);
	if (error == -EAGAIN)
		goto again;
	return error;
}

static int oxfs_end(struct address_space *mapping, loff_t at, u32 bytes, u32 copied,
		    struct folio *folio)
{
	struct inode *inode = mapping->host;

	/* The rest of the folio is not there: the caller tries again with what it has. */
	if (!folio_test_uptodate(folio) && copied < bytes)
		copied = 0;
	/* A size that the server said before is not believed while a page is dirty, or if it was
	 * asked for before this change: both come before the size. */
	if (copied) {
		folio_mark_uptodate(folio);
		folio_mark_dirty(folio);
		oxfs_inode_changed(inode);
		if (at + copied > i_size_read(inode))
			i_size_write(inode, at + copied);
	}
	folio_unlock(folio);
	folio_put(folio);
	return copied;
}

#if OXFS_NEW
static int oxfs_write_begin(struct file *file, struct address_space *mapping, loff_t at,
			    unsigned int bytes, struct folio **folio, void **data)
{
	return oxfs_begin(file, mapping, at, bytes, folio);
}

static int oxfs_write_end(struct file *file, struct address_space *mapping, loff_t at,
			  unsigned int bytes, unsigned int copied, struct folio *folio, void *data)
{
	return oxfs_end(mapping, at, bytes, copied, folio);
}
#else
static int oxfs_write_begin(struct file *file, struct address_space *mapping, loff_t at,
			    unsigned int bytes, struct page **page, void **data)
{
	struct folio *folio;
	int error = oxfs_begin(file, mapping, at, bytes, &folio);

	if (!error)
		*page = folio_page(folio, 0);
	return error;
}

static int oxfs_write_end(struct file *file, struct address_space *mapping, loff_t at,
			  unsigned int bytes, unsigned int copied, struct page *page, void *data)
{
	return oxfs_end(mapping, at, bytes, copied, page_folio(page));
}
#endif

/* ---- mappings ----------------------------------------------------------------------------- */

static vm_fault_t oxfs_page_mkwrite(struct vm_fault *fault)
{
	struct folio *folio = page_folio(fault->page);
	struct inode *inode = file_inode(fault->vma->vm_file);
	vm_fault_t result = VM_FAULT_LOCKED;

	sb_start_pagefault(inode->i_sb);
	folio_lock(folio);
	if (folio->mapping != inode->i_mapping || folio_pos(folio) >= i_size_read(inode)) {
		folio_unlock(folio);
		result = VM_FAULT_NOPAGE;
	} else {
		folio_wait_writeback(folio);
		folio_mark_dirty(folio);
		oxfs_inode_changed(inode);
	}
	sb_end_pagefault(inode->i_sb);
	return result;
}

static const struct vm_operations_struct oxfs_vm_operations = {
	.fault = filemap_fault,
	.map_pages = filemap_map_pages,
	.page_mkwrite = oxfs_page_mkwrite,
};

int oxfs_pages_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct inode *inode = file_inode(file);
	int error = oxfs_inode_refresh(inode, false);

	if (!error)
		error = oxfs_inode_drop_stale(inode);
	if (error)
		return error;
	/* Private pages begin as copies of the file's, which have to be read. */
	if ((oxfs_open_of(file)->flags & O_ACCMODE) == O_WRONLY)
		return -EACCES;
	if (oxfs_session_i(inode)->options.no_cache && !mapping_mapped(inode->i_mapping))
		invalidate_inode_pages2(inode->i_mapping);
	vma->vm_ops = &oxfs_vm_operations;
	return 0;
}

const struct address_space_operations oxfs_pages_operations = {
	.read_folio = oxfs_read_folio,
	.readahead = oxfs_readahead,
	.writepages = oxfs_writepages,
	.write_begin = oxfs_write_begin,
	.write_end = oxfs_write_end,
	.dirty_folio = filemap_dirty_folio,
	.launder_folio = oxfs_launder,
	.migrate_folio = filemap_migrate_folio,
};
