// SPDX-License-Identifier: GPL-2.0
/*
 * folder.c: listing a folder. A block of entries is kept with the open file and handed out from
 * there. Positions 0 and 1 are "." and "..", which are made here; the server's cookie c is position
 * c + 2.
 */
#include <linux/slab.h>

#include "oxfs_client.h"

#define OXFS_FOLDER_BYTES (32u << 10)
#define OXFS_DOTS 2

static int oxfs_folder_fill(struct file *file, struct oxfs_file *mine, loff_t at)
{
	struct inode *inode = file_inode(file);
	struct oxfs_session *session = oxfs_session_i(inode);
	struct oxfs_transaction *ask = oxfs_transaction_new(session, OXFS_READDIR, current_cred());
	u32 bytes = min(OXFS_FOLDER_BYTES, session->io_bytes_max);
	int error;

	oxfs_transaction_inode(ask, inode, mine->open);
	error = oxfs_transaction_memory(ask, bytes, false);
	oxfs_transaction_argument(ask, 0, at - OXFS_DOTS);
	oxfs_transaction_argument(ask, 1, bytes);
	if (!error)
		error = oxfs_transaction_call(ask);
	if (!error) {
		kvfree(mine->entries);
		mine->entries = ask->memory;
		ask->memory = NULL;
		mine->entries_bytes = ask->data_here;
		mine->entries_at = 0;
		mine->at = at;
		mine->end = oxfs_value(ask, 0) == 1;
	}
	oxfs_transaction_put(ask);
	return error;
}

/* The entry at entries_at, checked; NULL: there is none, or it is not one. */
static const struct oxfs_entry *oxfs_folder_entry(struct oxfs_file *mine, u32 *bytes)
{
	u32 left = mine->entries_bytes - mine->entries_at;
	const struct oxfs_entry *entry = (const void *)(mine->entries + mine->entries_at);
	const char *name = (const char *)(entry + 1);
	u32 name_bytes;

	if (left < sizeof(*entry))
		return NULL;
	name_bytes = le16_to_cpu(entry->name_bytes);
	*bytes = ALIGN(sizeof(*entry) + name_bytes, 8);
	if (!name_bytes || name_bytes > OXFS_NAME_MAX || *bytes > left ||
	    memchr(name, '/', name_bytes) || memchr(name, 0, name_bytes) ||
	    le64_to_cpu(entry->cookie) > LLONG_MAX - OXFS_DOTS) {
		oxfs_count(OXFS_COUNT_REFUSED, 1);
		return NULL;
	}
	return entry;
}

static bool oxfs_is_dots(const char *name, u32 bytes)
{
	return name[0] == '.' && (bytes == 1 || (bytes == 2 && name[1] == '.'));
}

/* Hands out what is there; 1: the caller's buffer is full. */
static int oxfs_folder_emit(struct oxfs_file *mine, struct dir_context *context)
{
	const struct oxfs_entry *entry;
	u32 bytes;

	while (mine->entries_at < mine->entries_bytes) {
		const char *name;
		u32 name_bytes;

		entry = oxfs_folder_entry(mine, &bytes);
		if (!entry)
			return -EIO;
		name = (const char *)(entry + 1);
		name_bytes = le16_to_cpu(entry->name_bytes);
		if (!oxfs_is_dots(name, name_bytes) &&
		    !dir_emit(context, name, name_bytes, le64_to_cpu(entry->inode),
			      entry->type & 15))
			return 1;
		mine->entries_at += bytes;
		mine->at = le64_to_cpu(entry->cookie) + OXFS_DOTS;
		context->pos = mine->at;
	}
	return 0;
}

static int oxfs_iterate(struct file *file, struct dir_context *context)
{
	struct oxfs_file *mine = file->private_data;
	int error = 0;

	if (context->pos < OXFS_DOTS) {
		if (!dir_emit_dots(file, context))
			return 0;
	}
	if (mutex_lock_killable(&mine->lock))
		return -EINTR;
	while (!error) {
		bool here = mine->entries && mine->at == context->pos && mine->entries_at;

		/* A listing that begins, or goes on elsewhere, asks anew. */
		if (!here || (mine->entries_at >= mine->entries_bytes && !mine->end)) {
			error = oxfs_folder_fill(file, mine, context->pos);
			if (error)
				break;
			if (!mine->entries_bytes) {
				mine->end = true;
				break;
			}
		}
		if (mine->entries_at >= mine->entries_bytes)
			break;
		error = oxfs_folder_emit(mine, context);
	}
	mutex_unlock(&mine->lock);
	return error == 1 ? 0 : error;
}

static int oxfs_folder_fsync(struct file *file, loff_t start, loff_t end, int data_only)
{
	return oxfs_inode_sync(file_inode(file), oxfs_open_of(file), data_only);
}

const struct file_operations oxfs_folder_operations = {
	.owner = THIS_MODULE,
	.open = oxfs_file_open,
	.release = oxfs_file_release,
	.read = generic_read_dir,
	.iterate_shared = oxfs_iterate,
	.llseek = generic_file_llseek,
	.fsync = oxfs_folder_fsync,
	.flock = oxfs_flock,
};
