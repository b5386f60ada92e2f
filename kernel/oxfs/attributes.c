// SPDX-License-Identifier: GPL-2.0
/*
 * attributes.c: asking for attributes and permissions, and changing them. The server decides what
 * is permitted: its answer for the last user who asked is kept as long as attributes are.
 */
#include <linux/pagemap.h>

#include "oxfs_client.h"

/* How often the server is asked again because this side changed the file meanwhile. What is known
 * then has this side's changes in it, if not all of others'. */
#define OXFS_ASK_MAX 3

/* Asks the server, by an open if there is one: the node may have no name any more. 1: its answer
 * was too old. */
static int oxfs_attr_ask_once(struct inode *inode)
{
	struct oxfs_session *session = oxfs_session_i(inode);
	struct oxfs_open *open = oxfs_open_for(inode, false);
	struct oxfs_transaction *ask = oxfs_transaction_new(session, OXFS_GETATTR, current_cred());
	int error;

	oxfs_transaction_inode(ask, inode, open);
	if (open)
		oxfs_open_put(open);
	error = oxfs_transaction_call(ask);
	if (!error && le32_to_cpu(ask->reply.flags) & OXFS_REPLY_ATTR)
		error = oxfs_inode_update(inode, &ask->reply.attr, ask->asked_at);
	else if (!error)
		error = -EIO;
	oxfs_transaction_put(ask);
	return error;
}

/* Attributes that are believed, or have just come (`now`: in any case). */
int oxfs_inode_refresh(struct inode *inode, bool now)
{
	int error = 1;
	u32 i;

	if (!now && oxfs_inode_is_fresh(inode))
		return 0;
	for (i = 0; i < OXFS_ASK_MAX && error > 0; i++)
		error = oxfs_attr_ask_once(inode);
	return min(error, 0);
}

int oxfs_getattr(oxfs_idmap *idmap, const struct path *path, struct kstat *stat, u32 mask,
		 unsigned int flags)
{
	struct inode *inode = d_inode(path->dentry);
	bool now = flags & AT_STATX_FORCE_SYNC;
	int error = 0;

	/* Size, times and blocks are the server's: it has to have all data first. */
	if (S_ISREG(inode->i_mode) &&
	    mask & (STATX_SIZE | STATX_BLOCKS | STATX_MTIME | STATX_CTIME) &&
	    !(flags & AT_STATX_DONT_SYNC) &&
	    (mapping_tagged(inode->i_mapping, PAGECACHE_TAG_DIRTY) ||
	     mapping_tagged(inode->i_mapping, PAGECACHE_TAG_WRITEBACK))) {
		/* An error of theirs is for who syncs or closes. */
		filemap_fdatawrite(inode->i_mapping);
		filemap_fdatawait_keep_errors(inode->i_mapping);
	}
	if (!(flags & AT_STATX_DONT_SYNC))
		error = oxfs_inode_refresh(inode, now);
	if (error)
		return error;
	oxfs_fillattr(idmap, mask, inode, stat);
	stat->blksize = oxfs_session_i(inode)->io_bytes_max;
	return 0;
}

static u64 oxfs_nanoseconds(struct timespec64 time)
{
	return (u64)timespec64_to_ns(&time);
}

static void oxfs_setattr_fill(struct oxfs_transaction *transaction, const struct iattr *attr)
{
	u64 which = 0, uid = 0, gid = 0;

	if (attr->ia_valid & ATTR_MODE) {
		which |= OXFS_SET_MODE;
		oxfs_transaction_argument(transaction, 1, attr->ia_mode & S_IALLUGO);
	}
	if (attr->ia_valid & ATTR_UID) {
		which |= OXFS_SET_UID;
		uid = from_kuid(&init_user_ns, attr->ia_uid);
	}
	if (attr->ia_valid & ATTR_GID) {
		which |= OXFS_SET_GID;
		gid = from_kgid(&init_user_ns, attr->ia_gid);
	}
	oxfs_transaction_argument(transaction, 2, uid << 32 | (u32)gid);
	if (attr->ia_valid & ATTR_SIZE) {
		which |= OXFS_SET_SIZE;
		oxfs_transaction_argument(transaction, 3, attr->ia_size);
	}
	if (attr->ia_valid & ATTR_ATIME_SET) {
		which |= OXFS_SET_ACCESS;
		oxfs_transaction_argument(transaction, 4, oxfs_nanoseconds(attr->ia_atime));
	} else if (attr->ia_valid & ATTR_ATIME) {
		which |= OXFS_SET_ACCESS_NOW;
	}
	if (attr->ia_valid & ATTR_MTIME_SET) {
		which |= OXFS_SET_MODIFIED;
		oxfs_transaction_argument(transaction, 5, oxfs_nanoseconds(attr->ia_mtime));
	} else if (attr->ia_valid & ATTR_MTIME) {
		which |= OXFS_SET_MODIFIED_NOW;
	}
	oxfs_transaction_argument(transaction, 0, which);
}

/* The server has all that was written before, and is sent nothing that it may have cut off. */
static int oxfs_setattr_write(struct inode *inode, const struct iattr *attr)
{
	int error = filemap_write_and_wait(inode->i_mapping);

	if (error || !(attr->ia_valid & ATTR_SIZE) || attr->ia_size >= i_size_read(inode))
		return error;
	WRITE_ONCE(oxfs_i(inode)->cut_at, attr->ia_size);
	/* Who is sending a page now has not seen it. */
	return filemap_write_and_wait(inode->i_mapping);
}

int oxfs_setattr(oxfs_idmap *idmap, struct dentry *dentry, struct iattr *attr)
{
	struct inode *inode = d_inode(dentry);
	struct oxfs_session *session = oxfs_session_i(inode);
	struct oxfs_transaction *transaction;
	struct oxfs_open *open = NULL;
	u64 changed_at;
	int error;

	/* The server's kernel takes the bits away that a write, a cut or another owner does, in the name
	 * of who does that: here it would be a change that not everybody may make. */
	if (attr->ia_valid & (ATTR_KILL_SUID | ATTR_KILL_SGID)) {
		attr->ia_valid &= ~ATTR_MODE;
		if (!(attr->ia_valid & (ATTR_UID | ATTR_GID | ATTR_SIZE | ATTR_ATIME | ATTR_MTIME)))
			return 0;
	}
	if (attr->ia_valid & ATTR_SIZE) {
		error = inode_newsize_ok(inode, attr->ia_size);
		if (error)
			return error;
	}
	if (S_ISREG(inode->i_mode)) {
		error = oxfs_setattr_write(inode, attr);
		if (error)
			goto out;
	}
	if (attr->ia_valid & ATTR_FILE && attr->ia_file && attr->ia_file->private_data &&
	    S_ISREG(inode->i_mode))
		open = oxfs_open_of(attr->ia_file);
	transaction = oxfs_transaction_new(session, OXFS_SETATTR, current_cred());
	transaction->slot_kind = OXFS_SLOT_NAMES;
	transaction->orphan = oxfs_inode_orphan;
	oxfs_inode_changed(inode);
	oxfs_transaction_inode(transaction, inode, open);
	oxfs_setattr_fill(transaction, attr);
	error = oxfs_transaction_call(transaction);
	if (!error) {
		changed_at = oxfs_inode_adopt(inode, transaction);
		if (attr->ia_valid & ATTR_SIZE)
			truncate_setsize(inode, attr->ia_size);
		if (le32_to_cpu(transaction->reply.flags) & OXFS_REPLY_ATTR)
			oxfs_inode_update(inode, &transaction->reply.attr, changed_at);
		if (attr->ia_valid & (ATTR_MODE | ATTR_UID | ATTR_GID))
			oxfs_i(inode)->access_known = 0;
	}
	oxfs_transaction_put(transaction);
out:
	WRITE_ONCE(oxfs_i(inode)->cut_at, LLONG_MAX);
	return error;
}

/* ---- permissions -------------------------------------------------------------------------- */

static bool oxfs_access_is_known(struct inode *inode, const struct cred *cred, int mask,
				 bool *granted)
{
	struct oxfs_session *session = oxfs_session_i(inode);
	struct oxfs_inode *mine = oxfs_i(inode);
	bool known;

	spin_lock_bh(&session->lock);
	known = mine->attr_valid && mine->epoch == session->epoch &&
		time_before(jiffies, mine->access_until) && (mine->access_known & mask) == mask &&
		uid_eq(mine->access_uid, cred->fsuid) && gid_eq(mine->access_gid, cred->fsgid) &&
		mine->access_groups == cred->group_info;
	*granted = (mine->access_granted & mask) == mask;
	spin_unlock_bh(&session->lock);
	return known;
}

static void oxfs_access_keep(struct inode *inode, const struct cred *cred, int mask, bool granted)
{
	struct oxfs_session *session = oxfs_session_i(inode);
	struct oxfs_inode *mine = oxfs_i(inode);
	struct group_info *old = NULL;

	spin_lock_bh(&session->lock);
	if (!uid_eq(mine->access_uid, cred->fsuid) || !gid_eq(mine->access_gid, cred->fsgid) ||
	    mine->access_groups != cred->group_info || time_after_eq(jiffies, mine->access_until)) {
		mine->access_uid = cred->fsuid;
		mine->access_gid = cred->fsgid;
		old = mine->access_groups;
		mine->access_groups = get_group_info(cred->group_info);
		mine->access_known = 0;
		mine->access_granted = 0;
		mine->access_until = jiffies + OXFS_ATTR_SECONDS * HZ;
	}
	/* "Not both" says nothing about either. */
	if (granted) {
		mine->access_known |= mask;
		mine->access_granted |= mask;
	} else if (hweight32(mask) == 1) {
		mine->access_known |= mask;
		mine->access_granted &= ~mask;
	}
	spin_unlock_bh(&session->lock);
	if (old)
		put_group_info(old);
}

/* Nobody asks about it any more. */
void oxfs_access_drop(struct inode *inode)
{
	struct oxfs_inode *mine = oxfs_i(inode);

	if (mine->access_groups)
		put_group_info(mine->access_groups);
	mine->access_groups = NULL;
	mine->access_known = 0;
}

int oxfs_permission(oxfs_idmap *idmap, struct inode *inode, int mask)
{
	struct oxfs_session *session = oxfs_session_i(inode);
	const struct cred *cred = current_cred();
	struct oxfs_transaction *ask;
	int wanted = mask & (MAY_READ | MAY_WRITE | MAY_EXEC);
	bool granted;
	int error;

	if (!wanted)
		return 0;
	if (oxfs_access_is_known(inode, cred, wanted, &granted))
		return granted ? 0 : -EACCES;
	/* Opening is checked by the server when it opens, and names when they are changed; a walk
	 * through folders and access(2) have no other check. A program is executed by who may. */
	if (mask & MAY_OPEN && S_ISREG(inode->i_mode) && !(wanted & MAY_EXEC))
		return 0;
	if (mask & MAY_NOT_BLOCK)
		return -ECHILD;
	ask = oxfs_transaction_new(session, OXFS_ACCESS, cred);
	oxfs_transaction_inode(ask, inode, NULL);
	oxfs_transaction_argument(ask, 0, wanted);
	error = oxfs_transaction_call(ask);
	if (!error && le32_to_cpu(ask->reply.flags) & OXFS_REPLY_ATTR)
		oxfs_inode_update(inode, &ask->reply.attr, ask->asked_at);
	oxfs_transaction_put(ask);
	if (!error || error == -EACCES)
		oxfs_access_keep(inode, cred, wanted, !error);
	return error;
}
