// SPDX-License-Identifier: GPL-2.0
/*
 * names.c: names in folders. A name is believed as long as its folder's entries have not moved on
 * (d_fsdata keeps their number) and the folder's attributes are believed.
 */
#include <linux/namei.h>
#include <linux/slab.h>

#include "oxfs_client.h"

static struct oxfs_transaction *oxfs_names_new(struct inode *folder, u32 operation,
					       const struct qstr *name, int *error)
{
	struct oxfs_session *session = oxfs_session_i(folder);
	struct oxfs_transaction *transaction =
		oxfs_transaction_new(session, operation, current_cred());

	oxfs_transaction_inode(transaction, folder, NULL);
	*error = oxfs_transaction_names(transaction, name->name, name->len, NULL, 0);
	return transaction;
}

static void oxfs_dentry_believe(struct dentry *dentry, u64 entries)
{
	dentry->d_fsdata = (void *)(unsigned long)entries;
}

static bool oxfs_dentry_is_believed(const struct dentry *dentry, struct inode *folder)
{
	return oxfs_inode_is_fresh(folder) &&
	       (unsigned long)READ_ONCE(dentry->d_fsdata) ==
		       (unsigned long)READ_ONCE(oxfs_i(folder)->entries);
}

/* ---- looking up --------------------------------------------------------------------------- */

/* The inode behind a name; NULL: there is none. */
static struct inode *oxfs_look_up(struct inode *folder, const struct qstr *name)
{
	struct oxfs_transaction *ask;
	struct inode *inode;
	int error;

	ask = oxfs_names_new(folder, OXFS_LOOKUP, name, &error);
	if (!error)
		error = oxfs_transaction_call(ask);
	if (error)
		inode = error == -ENOENT ? NULL : ERR_PTR(error);
	else
		inode = oxfs_inode_of_reply(folder->i_sb, ask);
	oxfs_transaction_put(ask);
	return inode;
}

static struct dentry *oxfs_lookup(struct inode *folder, struct dentry *dentry, unsigned int flags)
{
	struct dentry *other;
	struct inode *inode;
	u64 entries;

	if (dentry->d_name.len > OXFS_NAME_MAX)
		return ERR_PTR(-ENAMETOOLONG);
	/* Of which moment the answer is. */
	if (!oxfs_inode_is_fresh(folder)) {
		int error = oxfs_inode_refresh(folder, false);

		if (error)
			return ERR_PTR(error);
	}
	entries = READ_ONCE(oxfs_i(folder)->entries);
	inode = oxfs_look_up(folder, &dentry->d_name);
	if (IS_ERR(inode))
		return ERR_CAST(inode);
	other = d_splice_alias(inode, dentry);
	if (!IS_ERR(other))
		oxfs_dentry_believe(other ? other : dentry, entries);
	return other;
}

static int oxfs_revalidate(struct dentry *dentry, unsigned int flags)
{
	struct dentry *parent;
	struct inode *folder, *inode;
	u64 entries;
	int valid = 1;

	if (flags & LOOKUP_RCU) {
		folder = d_inode_rcu(READ_ONCE(dentry->d_parent));
		return folder && oxfs_dentry_is_believed(dentry, folder) ? 1 : -ECHILD;
	}
	parent = dget_parent(dentry);
	folder = d_inode(parent);
	if (oxfs_dentry_is_believed(dentry, folder))
		goto out;
	valid = oxfs_inode_refresh(folder, false);
	if (valid)
		goto out;
	valid = 1;
	entries = READ_ONCE(oxfs_i(folder)->entries);
	if ((unsigned long)READ_ONCE(dentry->d_fsdata) == (unsigned long)entries &&
	    !oxfs_session_i(folder)->options.no_cache)
		goto out;
	inode = oxfs_look_up(folder, &dentry->d_name);
	if (IS_ERR(inode)) {
		valid = PTR_ERR(inode);
		goto out;
	}
	valid = inode == d_inode(dentry);
	if (valid)
		oxfs_dentry_believe(dentry, entries);
	iput(inode);
out:
	dput(parent);
	return valid;
}

/* A walk that ends at "." or at the root has checked no name. */
static int oxfs_weak_revalidate(struct dentry *dentry, unsigned int flags)
{
	struct inode *inode = d_inode(dentry);
	int error;

	if (!inode)
		return 1;
	error = oxfs_inode_refresh(inode, false);
	return error ? error : 1;
}

const struct dentry_operations oxfs_dentry_operations = {
	.d_revalidate = oxfs_revalidate,
	.d_weak_revalidate = oxfs_weak_revalidate,
};

/* ---- making ------------------------------------------------------------------------------- */

/* Sends a change of names, and takes what its answer says of the folder. */
static int oxfs_names_call(struct inode *folder, struct oxfs_transaction *transaction, int error)
{
	transaction->slot_kind = OXFS_SLOT_NAMES;
	if (error)
		return error;
	error = oxfs_transaction_call(transaction);
	/* Who was killed does not know what was done. */
	if (error == -EINTR)
		oxfs_inode_forget_entries(folder);
	else if (!error)
		oxfs_folder_changed(folder, transaction);
	return error;
}

/* The answer's node becomes what the name stands for. */
static int oxfs_made(struct inode *folder, struct dentry *dentry,
		     const struct oxfs_transaction *transaction)
{
	struct inode *inode = oxfs_inode_of_reply(folder->i_sb, transaction);
	struct dentry *other;

	if (IS_ERR(inode)) {
		d_drop(dentry);
		return PTR_ERR(inode);
	}
	if (S_ISDIR(inode->i_mode)) {
		d_drop(dentry);
		other = d_splice_alias(inode, dentry);
		if (IS_ERR(other))
			return PTR_ERR(other);
		oxfs_dentry_believe(other ? other : dentry, READ_ONCE(oxfs_i(folder)->entries));
		dput(other);
		return 0;
	}
	d_instantiate(dentry, inode);
	oxfs_dentry_believe(dentry, READ_ONCE(oxfs_i(folder)->entries));
	return 0;
}

static int oxfs_make(struct inode *folder, struct dentry *dentry, u32 operation, u64 first,
		     u64 second, const char *target)
{
	struct oxfs_transaction *transaction;
	u32 type = operation == OXFS_MKDIR     ? S_IFDIR
		   : operation == OXFS_SYMLINK ? S_IFLNK
					       : first & S_IFMT;
	int error;

	transaction = oxfs_names_new(folder, operation, &dentry->d_name, &error);
	oxfs_transaction_argument(transaction, 0, first);
	oxfs_transaction_argument(transaction, 1, second);
	if (!error && target) {
		error = oxfs_transaction_memory(transaction, first, true);
		if (!error)
			memcpy(transaction->memory, target, first);
	}
	error = oxfs_names_call(folder, transaction, error);
	if (!error && (le32_to_cpu(transaction->reply.attr.mode) & S_IFMT) != type) {
		oxfs_count(OXFS_COUNT_REFUSED, 1);
		d_drop(dentry);
		error = -EIO;
	}
	if (!error)
		error = oxfs_made(folder, dentry, transaction);
	oxfs_transaction_put(transaction);
	return error;
}

static int oxfs_mkdir(oxfs_idmap *idmap, struct inode *folder, struct dentry *dentry, umode_t mode)
{
	return oxfs_make(folder, dentry, OXFS_MKDIR, mode & S_IALLUGO, 0, NULL);
}

static int oxfs_mknod(oxfs_idmap *idmap, struct inode *folder, struct dentry *dentry, umode_t mode,
		      dev_t device)
{
	return oxfs_make(folder, dentry, OXFS_MKNOD, mode, (u64)MAJOR(device) << 32 | MINOR(device),
			 NULL);
}

static int oxfs_symlink(oxfs_idmap *idmap, struct inode *folder, struct dentry *dentry,
			const char *target)
{
	size_t bytes = strlen(target);

	if (bytes > OXFS_TARGET_MAX)
		return -ENAMETOOLONG;
	return oxfs_make(folder, dentry, OXFS_SYMLINK, bytes, 0, target);
}

static int oxfs_link(struct dentry *old, struct inode *folder, struct dentry *dentry)
{
	struct inode *inode = d_inode(old);
	struct oxfs_transaction *transaction;
	int error;

	transaction = oxfs_names_new(folder, OXFS_LINK, &dentry->d_name, &error);
	oxfs_transaction_argument(transaction, 0, oxfs_i(inode)->node);
	error = oxfs_names_call(folder, transaction, error);
	oxfs_inode_changed(inode);
	if (!error) {
		ihold(inode);
		d_instantiate(dentry, inode);
		oxfs_dentry_believe(dentry, READ_ONCE(oxfs_i(folder)->entries));
	}
	oxfs_transaction_put(transaction);
	return error;
}

/* CREATE: *file is opened by the same answer. NULL: it is closed again, and only its name stays. */
static int oxfs_create_open(struct inode *folder, struct dentry *dentry, umode_t mode, u32 flags,
			    struct oxfs_file **file)
{
	struct oxfs_session *session = oxfs_session_i(folder);
	struct oxfs_transaction *transaction;
	struct oxfs_file *fresh;
	u64 id;
	int error;

	fresh = oxfs_file_new(folder, flags, current_cred());
	if (!fresh)
		return -ENOMEM;
	transaction = oxfs_names_new(folder, OXFS_CREATE, &dentry->d_name, &error);
	transaction->orphan = oxfs_open_orphan;
	oxfs_transaction_argument(transaction, 0, mode & S_IALLUGO);
	oxfs_transaction_argument(transaction, 1,
				  fresh->open->flags | O_CREAT | (flags & (O_EXCL | O_TRUNC)));
	error = oxfs_names_call(folder, transaction, error);
	if (error)
		goto out;
	id = le64_to_cpu(transaction->reply.open);
	if (!S_ISREG(le32_to_cpu(transaction->reply.attr.mode)) || !id) {
		oxfs_count(OXFS_COUNT_REFUSED, 1);
		error = -EIO;
		d_drop(dentry);
	} else {
		error = oxfs_made(folder, dentry, transaction);
	}
	if (!error) {
		oxfs_file_opened(fresh, d_inode(dentry), id);
		if (file) {
			*file = fresh;
			fresh = NULL;
		}
	} else if (id) {
		oxfs_open_close(session, id);
	}
out:
	if (fresh)
		oxfs_file_free(fresh);
	oxfs_transaction_put(transaction);
	return error;
}

static int oxfs_create(oxfs_idmap *idmap, struct inode *folder, struct dentry *dentry, umode_t mode,
		       bool exclusive)
{
	return oxfs_create_open(folder, dentry, mode, O_RDWR | (exclusive ? O_EXCL : 0), NULL);
}

/* The server has opened it already. */
static int oxfs_open_made(struct inode *inode, struct file *file)
{
	file->f_mode |= FMODE_CAN_ODIRECT;
	return generic_file_open(inode, file);
}

static int oxfs_atomic_open(struct inode *folder, struct dentry *dentry, struct file *file,
			    unsigned int flags, umode_t mode)
{
	struct dentry *other = NULL;
	struct oxfs_file *fresh;
	int error;

	if (d_in_lookup(dentry)) {
		other = oxfs_lookup(folder, dentry, 0);
		if (IS_ERR(other))
			return PTR_ERR(other);
		if (other)
			dentry = other;
	}
	if (!(flags & O_CREAT) || d_really_is_positive(dentry))
		return finish_no_open(file, other);
	error = oxfs_create_open(folder, dentry, mode, flags, &fresh);
	if (!error) {
		file->private_data = fresh;
		file->f_mode |= FMODE_CREATED;
		error = finish_open(file, dentry, oxfs_open_made);
		if (error) {
			file->private_data = NULL;
			oxfs_file_free(fresh);
		}
	}
	dput(other);
	return error;
}

/* ---- taking away -------------------------------------------------------------------------- */

static int oxfs_remove(struct inode *folder, struct dentry *dentry, u32 operation)
{
	struct oxfs_transaction *transaction;
	struct inode *inode = d_inode(dentry);
	int error;

	transaction = oxfs_names_new(folder, operation, &dentry->d_name, &error);
	error = oxfs_names_call(folder, transaction, error);
	oxfs_transaction_put(transaction);
	oxfs_inode_changed(inode);
	if (error)
		return error;
	if (operation == OXFS_RMDIR || inode->i_nlink == 1)
		clear_nlink(inode);
	oxfs_dentry_believe(dentry, READ_ONCE(oxfs_i(folder)->entries));
	return 0;
}

static int oxfs_unlink(struct inode *folder, struct dentry *dentry)
{
	return oxfs_remove(folder, dentry, OXFS_UNLINK);
}

static int oxfs_rmdir(struct inode *folder, struct dentry *dentry)
{
	return oxfs_remove(folder, dentry, OXFS_RMDIR);
}

static int oxfs_rename(oxfs_idmap *idmap, struct inode *folder, struct dentry *dentry,
		       struct inode *folder2, struct dentry *dentry2, unsigned int flags)
{
	struct oxfs_session *session = oxfs_session_i(folder);
	struct oxfs_transaction *transaction;
	struct inode *victim = d_inode(dentry2);
	int error;

	if (flags & ~(RENAME_NOREPLACE | RENAME_EXCHANGE))
		return -EINVAL;
	transaction = oxfs_transaction_new(session, OXFS_RENAME, current_cred());
	oxfs_transaction_inode(transaction, folder, NULL);
	error = oxfs_transaction_names(transaction, dentry->d_name.name, dentry->d_name.len,
				       dentry2->d_name.name, dentry2->d_name.len);
	oxfs_transaction_argument(transaction, 0, oxfs_i(folder2)->node);
	oxfs_transaction_argument(transaction, 1, flags);
	error = oxfs_names_call(folder, transaction, error);
	oxfs_transaction_put(transaction);
	oxfs_inode_changed(d_inode(dentry));
	if (victim)
		oxfs_inode_changed(victim);
	if (error)
		return error;
	if (folder2 != folder)
		oxfs_inode_forget_entries(folder2);
	if (victim && !(flags & RENAME_EXCHANGE) &&
	    (S_ISDIR(victim->i_mode) || victim->i_nlink == 1))
		clear_nlink(victim);
	/* The dentry is moved to the other folder by our caller. */
	oxfs_dentry_believe(dentry, READ_ONCE(oxfs_i(folder2)->entries));
	if (flags & RENAME_EXCHANGE)
		oxfs_dentry_believe(dentry2, READ_ONCE(oxfs_i(folder)->entries));
	return 0;
}

/* ---- symbolic links ----------------------------------------------------------------------- */

static const char *oxfs_get_link(struct dentry *dentry, struct inode *inode,
				 struct delayed_call *done)
{
	struct oxfs_transaction *ask;
	char *target = NULL;
	int error;

	if (!dentry)
		return ERR_PTR(-ECHILD);
	ask = oxfs_transaction_new(oxfs_session_i(inode), OXFS_READLINK, current_cred());
	oxfs_transaction_inode(ask, inode, NULL);
	error = oxfs_transaction_memory(ask, OXFS_TARGET_MAX, false);
	oxfs_transaction_argument(ask, 0, OXFS_TARGET_MAX);
	if (!error)
		error = oxfs_transaction_call(ask);
	if (!error && (!ask->data_here || memchr(ask->memory, 0, ask->data_here)))
		error = -EIO;
	if (!error) {
		target = kmemdup_nul(ask->memory, ask->data_here, GFP_KERNEL);
		error = target ? 0 : -ENOMEM;
	}
	oxfs_transaction_put(ask);
	if (error)
		return ERR_PTR(error);
	set_delayed_call(done, kfree_link, target);
	return target;
}

const struct inode_operations oxfs_folder_inode_operations = {
	.lookup = oxfs_lookup,
	.create = oxfs_create,
	.atomic_open = oxfs_atomic_open,
	.link = oxfs_link,
	.unlink = oxfs_unlink,
	.symlink = oxfs_symlink,
	.mkdir = oxfs_mkdir,
	.rmdir = oxfs_rmdir,
	.mknod = oxfs_mknod,
	.rename = oxfs_rename,
	.permission = oxfs_permission,
	.getattr = oxfs_getattr,
	.setattr = oxfs_setattr,
	.listxattr = oxfs_listxattr,
};

const struct inode_operations oxfs_link_inode_operations = {
	.get_link = oxfs_get_link,
	.getattr = oxfs_getattr,
	.setattr = oxfs_setattr,
	.listxattr = oxfs_listxattr,
};
