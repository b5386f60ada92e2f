// SPDX-License-Identifier: GPL-2.0
/*
 * xattr.c: extended attributes "user.", "trusted." and "security.", kept by the server; nothing of
 * them is cached.
 */
#include <linux/xattr.h>

#include "oxfs_client.h"

/* Names as the server has them, with their prefix. */
static struct oxfs_transaction *oxfs_xattr_new(struct inode *inode, u32 operation,
					       const struct xattr_handler *handler,
					       const char *name, int *error)
{
	struct oxfs_transaction *transaction =
		oxfs_transaction_new(oxfs_session_i(inode), operation, current_cred());
	const char *full = handler ? xattr_full_name(handler, name) : "";

	oxfs_transaction_inode(transaction, inode, NULL);
	*error = oxfs_transaction_names(transaction, full, strlen(full), NULL, 0);
	return transaction;
}

/* Into a buffer of so many bytes, or only how many there are. */
static ssize_t oxfs_xattr_read(struct oxfs_transaction *transaction, void *buffer, size_t bytes,
			       int error)
{
	ssize_t result;

	bytes = min_t(size_t, bytes, OXFS_XATTR_MAX);
	oxfs_transaction_argument(transaction, 0, bytes);
	if (!error && bytes)
		error = oxfs_transaction_memory(transaction, bytes, false);
	if (!error)
		error = oxfs_transaction_call(transaction);
	if (error) {
		result = error;
	} else if (bytes) {
		result = transaction->data_here;
		memcpy(buffer, transaction->memory, result);
	} else {
		result = min_t(u64, oxfs_value(transaction, 0), OXFS_XATTR_MAX);
	}
	oxfs_transaction_put(transaction);
	return result;
}

static int oxfs_xattr_get(const struct xattr_handler *handler, struct dentry *dentry,
			  struct inode *inode, const char *name, void *buffer, size_t bytes)
{
	struct oxfs_transaction *transaction;
	int error;

	transaction = oxfs_xattr_new(inode, OXFS_GETXATTR, handler, name, &error);
	return oxfs_xattr_read(transaction, buffer, bytes, error);
}

static int oxfs_xattr_set(const struct xattr_handler *handler, oxfs_idmap *idmap,
			  struct dentry *dentry, struct inode *inode, const char *name,
			  const void *value, size_t bytes, int flags)
{
	struct oxfs_transaction *transaction;
	int error;

	if (bytes > OXFS_XATTR_MAX)
		return -E2BIG;
	transaction = oxfs_xattr_new(inode, value ? OXFS_SETXATTR : OXFS_REMOVEXATTR, handler, name,
				     &error);
	transaction->slot_kind = OXFS_SLOT_NAMES;
	if (!error && value && bytes) {
		error = oxfs_transaction_memory(transaction, bytes, true);
		if (!error)
			memcpy(transaction->memory, value, bytes);
	}
	oxfs_transaction_argument(transaction, 0, bytes);
	oxfs_transaction_argument(transaction, 1, flags);
	oxfs_inode_changed(inode);
	if (!error)
		error = oxfs_transaction_call(transaction);
	oxfs_transaction_put(transaction);
	return error;
}

/* The server's list is names with an end mark each; anything else is not handed on. */
ssize_t oxfs_listxattr(struct dentry *dentry, char *buffer, size_t bytes)
{
	struct oxfs_transaction *transaction;
	ssize_t result;
	int error;

	transaction = oxfs_xattr_new(d_inode(dentry), OXFS_LISTXATTR, NULL, NULL, &error);
	result = oxfs_xattr_read(transaction, buffer, bytes, error);
	if (bytes && result > 0 && buffer[result - 1]) {
		oxfs_count(OXFS_COUNT_REFUSED, 1);
		return -EIO;
	}
	return result;
}

#define OXFS_XATTRS(handler, start)                                                                \
	static const struct xattr_handler handler = { .prefix = start,                             \
						      .get = oxfs_xattr_get,                       \
						      .set = oxfs_xattr_set }

OXFS_XATTRS(oxfs_xattr_user, XATTR_USER_PREFIX);
OXFS_XATTRS(oxfs_xattr_trusted, XATTR_TRUSTED_PREFIX);
OXFS_XATTRS(oxfs_xattr_security, XATTR_SECURITY_PREFIX);

OXFS_HANDLERS oxfs_xattr_handlers[] = {
	&oxfs_xattr_user,
	&oxfs_xattr_trusted,
	&oxfs_xattr_security,
	NULL,
};
