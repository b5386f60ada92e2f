// SPDX-License-Identifier: GPL-2.0
/*
 * writeback.c: dirty pages to the server, and syncing. Neighbouring folios go in one WRITE,
 * straight from where they are: they are under writeback, and not changed, until the server has
 * answered.
 *
 * A WRITE is not on stable storage before an FSYNC. If the server's machine was started again
 * between the two, data may be lost, and the FSYNC that would have made it safe says so.
 */
#include <linux/backing-dev.h>
#include <linux/pagemap.h>
#include <linux/writeback.h>

#include "oxfs_client.h"

struct oxfs_batch {
	struct inode *inode;
	struct oxfs_transaction *transaction;
	loff_t next; /* where it ends */
};

/* What became of a WRITE of pages: a part of it is a failure, of which the server says why. */
static int oxfs_write_result(const struct oxfs_transaction *transaction)
{
	u64 why = oxfs_value(transaction, 1);

	if (transaction->error)
		return transaction->error;
	if (oxfs_value(transaction, 0) == transaction->data_max)
		return 0;
	return why && why <= MAX_ERRNO ? -(int)why : -EIO;
}

static void oxfs_write_over(struct oxfs_transaction *transaction)
{
	struct address_space *mapping = page_folio(transaction->pages[0].bv_page)->mapping;
	int error = oxfs_write_result(transaction);
	u32 i;

	if (error) {
		mapping_set_error(mapping, error);
	} else {
		oxfs_inode_adopt(mapping->host, transaction);
		oxfs_inode_written(mapping->host);
	}
	oxfs_inode_wrote(mapping->host);
	for (i = 0; i < transaction->n_pages; i++)
		folio_end_writeback(page_folio(transaction->pages[i].bv_page));
}

static void oxfs_batch_send(struct oxfs_batch *batch)
{
	struct oxfs_transaction *transaction = batch->transaction;
	int error;

	batch->transaction = NULL;
	if (!transaction)
		return;
	oxfs_transaction_argument(transaction, 1, transaction->data_max);
	oxfs_inode_writes(batch->inode);
	error = oxfs_transaction_submit(transaction, false);
	if (error) {
		transaction->error = error;
		oxfs_write_over(transaction);
	}
	oxfs_transaction_put(transaction);
}

static void oxfs_batch_begin(struct oxfs_batch *batch, loff_t at)
{
	struct oxfs_open *open = oxfs_open_for(batch->inode, true);
	struct oxfs_transaction *transaction = oxfs_transaction_new(
		oxfs_session_i(batch->inode), OXFS_WRITE, open ? open->cred : oxfs_kernel_cred);

	transaction->slot_kind = OXFS_SLOT_DATA;
	transaction->outward = true;
	transaction->request.node = cpu_to_le64(oxfs_i(batch->inode)->node);
	transaction->open = open;
	transaction->done = oxfs_write_over;
	oxfs_transaction_argument(transaction, 0, at);
	oxfs_transaction_pages(transaction);
	batch->transaction = transaction;
	batch->next = at;
}

/* One folio, locked and no longer dirty. */
static void oxfs_batch_put(struct oxfs_batch *batch, struct folio *folio)
{
	loff_t at = folio_pos(folio), size = i_size_read(batch->inode);
	u32 bytes_max = oxfs_session_i(batch->inode)->io_bytes_max;
	struct bio_vec *page;
	u32 bytes;

	if (at >= size)
		return;
	/* The server may have cut it off by now, and would have it again. If it cannot be cut, it is
	 * sent the next time. */
	if (at + folio_size(folio) > READ_ONCE(oxfs_i(batch->inode)->cut_at)) {
		filemap_dirty_folio(batch->inode->i_mapping, folio);
		return;
	}
	bytes = min_t(u64, folio_size(folio), size - at);
	/* A mapping may have written behind the end, which others must not see. */
	if (bytes < folio_size(folio))
		folio_zero_segment(folio, bytes, folio_size(folio));
	if (batch->transaction &&
	    (batch->next != at || batch->transaction->n_pages == OXFS_PAGES_MAX ||
	     batch->transaction->data_max + bytes > bytes_max))
		oxfs_batch_send(batch);
	if (!batch->transaction)
		oxfs_batch_begin(batch, at);
	folio_start_writeback(folio);
	page = &batch->transaction->pages[batch->transaction->n_pages++];
	page->bv_page = folio_page(folio, 0);
	page->bv_offset = 0;
	page->bv_len = bytes;
	batch->transaction->data_max += bytes;
	batch->next = at + bytes;
}

/* One dirty folio, locked. */
static int oxfs_batch_add(oxfs_dirty *dirty, struct writeback_control *control, void *context)
{
	struct folio *folio = oxfs_dirty_folio(dirty);

	/* An inode belongs to the control group that has dirtied most of it. */
	oxfs_account_owner(control, folio);
	oxfs_batch_put(context, folio);
	folio_unlock(folio);
	return 0;
}

int oxfs_writepages(struct address_space *mapping, struct writeback_control *control)
{
	struct oxfs_batch batch = { .inode = mapping->host };
	int error = write_cache_pages(mapping, control, oxfs_batch_add, &batch);

	oxfs_batch_send(&batch);
	return error;
}

/* A folio that is dirty when it is to be dropped: a mapping has changed it. Locked. An error is for
 * who syncs or closes. */
int oxfs_launder(struct folio *folio)
{
	struct oxfs_batch batch = { .inode = folio->mapping->host };

	if (!folio_clear_dirty_for_io(folio))
		return 0;
	oxfs_batch_put(&batch, folio);
	oxfs_batch_send(&batch);
	folio_wait_writeback(folio);
	return 0;
}

/* ---- syncing ------------------------------------------------------------------------------ */

static void oxfs_inode_unsynced(struct inode *inode)
{
	struct oxfs_session *session = oxfs_session_i(inode);
	struct oxfs_inode *mine = oxfs_i(inode);

	spin_lock(&session->inodes_lock);
	if (list_empty(&mine->unsynced))
		list_add_tail(&mine->unsynced, &session->unsynced);
	spin_unlock(&session->inodes_lock);
}

/* Data are about to be sent. Process context. */
void oxfs_inode_writes(struct inode *inode)
{
	atomic_inc(&oxfs_i(inode)->writing);
	oxfs_inode_unsynced(inode);
}

static void oxfs_inode_unsynced_since(struct inode *inode, u64 boot, bool oldest)
{
	struct oxfs_session *session = oxfs_session_i(inode);
	struct oxfs_inode *mine = oxfs_i(inode);

	spin_lock_bh(&session->lock);
	if (!mine->unsynced_boot || oldest)
		mine->unsynced_boot = boot;
	spin_unlock_bh(&session->lock);
}

/* The server has them, in its memory: until its machine is started again, or an FSYNC follows. One
 * that is under way at this moment need not have seen them. Any context. */
void oxfs_inode_written(struct inode *inode)
{
	oxfs_inode_unsynced_since(inode, READ_ONCE(oxfs_session_i(inode)->boot), false);
}

/* Nothing more comes of what was begun by oxfs_inode_writes. Any context. */
void oxfs_inode_wrote(struct inode *inode)
{
	/* Who finds that nothing is under way finds what has become of it. */
	smp_mb__before_atomic();
	atomic_dec(&oxfs_i(inode)->writing);
}

/* Has the server bring what it got to stable storage. */
int oxfs_inode_sync(struct inode *inode, struct oxfs_open *open, bool data_only)
{
	struct oxfs_session *session = oxfs_session_i(inode);
	struct oxfs_inode *mine = oxfs_i(inode);
	struct oxfs_transaction *transaction =
		oxfs_transaction_new(session, OXFS_FSYNC, current_cred());
	u64 boot;
	int error;

	spin_lock(&session->inodes_lock);
	list_del_init(&mine->unsynced);
	spin_unlock(&session->inodes_lock);
	spin_lock_bh(&session->lock);
	boot = mine->unsynced_boot;
	mine->unsynced_boot = 0;
	spin_unlock_bh(&session->lock);
	oxfs_transaction_inode(transaction, inode, open);
	oxfs_transaction_argument(transaction, 0, data_only);
	error = oxfs_transaction_call(transaction);
	oxfs_transaction_put(transaction);
	if (error && boot)
		oxfs_inode_unsynced_since(inode, boot, true);
	if (atomic_read(&mine->writing))
		oxfs_inode_unsynced(inode);
	smp_rmb();
	if (READ_ONCE(mine->unsynced_boot))
		oxfs_inode_unsynced(inode);
	if (!error && boot && boot != READ_ONCE(session->boot))
		error = -EIO;
	return error;
}
