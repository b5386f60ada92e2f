// SPDX-License-Identifier: GPL-2.0
/*
 * super.c: mount -t oxfs ADDRESS[:PORT] /mnt, its options, and the module.
 */
#include <linux/backing-dev.h>
#include <linux/fs_context.h>
#include <linux/fs_parser.h>
#include <linux/inet.h>
#include <linux/init_task.h>
#include <linux/key.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/statfs.h>
#include <keys/user-type.h>
#include <net/net_namespace.h>

#include "oxfs_client.h"

enum oxfs_parameter {
	OXFS_P_BOUNCE,
	OXFS_P_CACHE,
	OXFS_P_HARD,
	OXFS_P_KEY,
	OXFS_P_PORT,
	OXFS_P_SOFT,
	OXFS_P_TIMEO,
};

static const struct constant_table oxfs_caches[] = { { "close-to-open", 0 }, { "none", 1 }, {} };

static const struct fs_parameter_spec oxfs_parameters[] = {
	fsparam_flag("bounce", OXFS_P_BOUNCE), fsparam_enum("cache", OXFS_P_CACHE, oxfs_caches),
	fsparam_flag("hard", OXFS_P_HARD),     fsparam_s32("key", OXFS_P_KEY),
	fsparam_u32("port", OXFS_P_PORT),      fsparam_flag("soft", OXFS_P_SOFT),
	fsparam_u32("timeo", OXFS_P_TIMEO),    {}
};

static int oxfs_parse(struct fs_context *context, struct fs_parameter *parameter)
{
	struct oxfs_options *options = context->fs_private;
	struct fs_parse_result result;
	int which = fs_parse(context, oxfs_parameters, parameter, &result);

	if (which < 0)
		return which;
	switch (which) {
	case OXFS_P_BOUNCE:
		options->bounce = true;
		break;
	case OXFS_P_CACHE:
		options->no_cache = result.uint_32;
		break;
	case OXFS_P_HARD:
		options->soft = false;
		break;
	case OXFS_P_KEY:
		options->key = result.int_32;
		break;
	case OXFS_P_PORT:
		if (!result.uint_32 || result.uint_32 > U16_MAX)
			return invalf(context, "oxfs: port=%u: a port is 1 to 65535",
				      result.uint_32);
		options->port = result.uint_32;
		break;
	case OXFS_P_SOFT:
		options->soft = true;
		break;
	case OXFS_P_TIMEO:
		if (!result.uint_32 || result.uint_32 > OXFS_TIMEO_SECONDS_MAX)
			return invalf(context, "oxfs: timeo=%u: seconds, 1 to %u", result.uint_32,
				      OXFS_TIMEO_SECONDS_MAX);
		options->timeo = result.uint_32;
		break;
	}
	return 0;
}

/* ---- address and key ---------------------------------------------------------------------- */

/* "10.0.0.1", "10.0.0.1:5021", "::1", "[::1]:5021"; the port behind the address wins. */
static int oxfs_address(struct fs_context *context, struct oxfs_session *session)
{
	const char *source = context->source, *end, *colon;
	char port[12];
	size_t bytes;

	if (!source || !*source)
		return invalf(context, "oxfs: no server: mount -t oxfs ADDRESS[:PORT] FOLDER");
	snprintf(port, sizeof(port), "%u", session->options.port);
	end = source + strlen(source);
	colon = strrchr(source, ':');
	if (*source == '[') {
		source++;
		end = strchr(source, ']');
		if (!end || (end[1] && end[1] != ':'))
			return invalf(
				context,
				"oxfs: %s: an address in brackets is [ADDRESS] or [ADDRESS]:PORT",
				context->source);
		colon = end[1] ? end + 1 : NULL;
	} else if (colon && strchr(source, ':') != colon) {
		colon = NULL;
	} else if (colon) {
		end = colon;
	}
	if (colon)
		strscpy(port, colon + 1, sizeof(port));
	bytes = end - source;
	if (!bytes || bytes >= sizeof(session->host))
		return invalf(context, "oxfs: %s: no address", context->source);
	memcpy(session->host, source, bytes);
	session->host[bytes] = 0;
	if (inet_pton_with_scope(session->net, AF_UNSPEC, session->host, port, &session->address))
		return invalf(context,
			      "oxfs: %s: neither an IPv4 nor an IPv6 address with a port; names "
			      "are not looked up here",
			      context->source);
	return 0;
}

static int oxfs_key_check(struct fs_context *context, struct key *key)
{
	const struct user_key_payload *payload;
	int error = key_validate(key);
	u32 bytes;

	if (key->type != &key_type_user)
		return invalf(context, "oxfs: key %d is not of type user", key->serial);
	if (error)
		return error;
	down_read(&key->sem);
	payload = user_key_payload_locked(key);
	bytes = payload ? payload->datalen : 0;
	up_read(&key->sem);
	if (bytes != OXFS_KEY_BYTES) {
		errorf(context, "oxfs: the key has %u bytes; it must have %u", bytes,
		       OXFS_KEY_BYTES);
		return -EKEYREJECTED;
	}
	return 0;
}

static int oxfs_key(struct fs_context *context, struct oxfs_session *session)
{
	char description[sizeof(session->host) + 8];
	key_ref_t reference;
	struct key *key;

	if (session->options.key) {
		reference = lookup_user_key(session->options.key, 0, KEY_NEED_SEARCH);
		if (IS_ERR(reference)) {
			errorf(context, "oxfs: key=%d: there is no such key for this process",
			       session->options.key);
			return PTR_ERR(reference);
		}
		session->key = key_ref_to_ptr(reference);
	} else {
		snprintf(description, sizeof(description), "oxfs:%s", session->host);
		key = request_key(&key_type_user, description, NULL);
		if (IS_ERR(key)) {
			errorf(context, "oxfs: no key %s of type user: keyctl padd user %s @u",
			       description, description);
			return PTR_ERR(key);
		}
		session->key = key;
	}
	return oxfs_key_check(context, session->key);
}

/* ---- super blocks ------------------------------------------------------------------------- */

static int oxfs_statfs(struct dentry *dentry, struct kstatfs *to)
{
	struct inode *inode = d_inode(dentry);
	struct oxfs_session *session = oxfs_session_i(inode);
	struct oxfs_transaction *ask = oxfs_transaction_new(session, OXFS_STATFS, current_cred());
	int error;

	oxfs_transaction_inode(ask, inode, NULL);
	error = oxfs_transaction_call(ask);
	if (!error) {
		to->f_type = OXFS_MAGIC;
		to->f_blocks = oxfs_value(ask, 0);
		to->f_bfree = oxfs_value(ask, 1);
		to->f_bavail = oxfs_value(ask, 2);
		to->f_files = oxfs_value(ask, 3);
		to->f_ffree = oxfs_value(ask, 4);
		to->f_bsize = clamp_t(u64, oxfs_value(ask, 5), 512, 1u << 30);
		to->f_frsize = to->f_bsize;
		to->f_namelen = OXFS_NAME_MAX;
		to->f_fsid = u64_to_fsid(session->client[0]);
	}
	oxfs_transaction_put(ask);
	return error;
}

/* The next inode of a list of those with WRITEs that no FSYNC followed, held. */
static struct inode *oxfs_next_unsynced(struct oxfs_session *session, struct list_head *list)
{
	struct oxfs_inode *mine;
	struct inode *inode = NULL;

	spin_lock(&session->inodes_lock);
	while (!inode &&
	       (mine = list_first_entry_or_null(list, struct oxfs_inode, unsynced))) {
		inode = igrab(&mine->vfs);
		if (!inode)
			list_del_init(&mine->unsynced);
	}
	spin_unlock(&session->inodes_lock);
	return inode;
}

static int oxfs_sync_fs(struct super_block *sb, int wait)
{
	struct oxfs_session *session = oxfs_session_of(sb);
	struct inode *inode;
	LIST_HEAD(list);
	int first = 0;

	if (!wait)
		return 0;
	/* Those that are written to meanwhile come again, and are not waited for again. */
	spin_lock(&session->inodes_lock);
	list_splice_init(&session->unsynced, &list);
	spin_unlock(&session->inodes_lock);
	while (!first && (inode = oxfs_next_unsynced(session, &list))) {
		struct oxfs_open *open = oxfs_open_for(inode, true);

		first = oxfs_inode_sync(inode, open, false);
		if (open)
			oxfs_open_put(open);
		iput(inode);
	}
	spin_lock(&session->inodes_lock);
	list_splice(&list, &session->unsynced);
	spin_unlock(&session->inodes_lock);
	return first;
}

/* Transactions that nobody waits for may hold inodes: they end before the kernel looks whether any
 * inode is left. */
static void oxfs_put_super(struct super_block *sb)
{
	oxfs_session_stop(oxfs_session_of(sb));
}

static void oxfs_umount_begin(struct super_block *sb)
{
	oxfs_session_force(oxfs_session_of(sb));
}

static int oxfs_show_options(struct seq_file *file, struct dentry *root)
{
	const struct oxfs_options *options = &oxfs_session_of(root->d_sb)->options;

	seq_printf(file, ",%s,timeo=%u,cache=%s", options->soft ? "soft" : "hard", options->timeo,
		   options->no_cache ? "none" : "close-to-open");
	if (options->bounce)
		seq_puts(file, ",bounce");
	if (options->key)
		seq_printf(file, ",key=%d", options->key);
	return 0;
}

static const struct super_operations oxfs_super_operations = {
	.alloc_inode = oxfs_inode_alloc,
	.free_inode = oxfs_inode_free,
	.evict_inode = oxfs_inode_evict,
	.put_super = oxfs_put_super,
	.statfs = oxfs_statfs,
	.sync_fs = oxfs_sync_fs,
	.umount_begin = oxfs_umount_begin,
	.show_options = oxfs_show_options,
};

static int oxfs_root(struct super_block *sb)
{
	struct oxfs_session *session = oxfs_session_of(sb);
	struct oxfs_transaction *ask = oxfs_transaction_new(session, OXFS_GETATTR, current_cred());
	struct inode *inode;
	int error;

	ask->request.node = cpu_to_le64(session->root);
	error = oxfs_transaction_call(ask);
	if (!error && (!(le32_to_cpu(ask->reply.flags) & OXFS_REPLY_ATTR) ||
		       !S_ISDIR(le32_to_cpu(ask->reply.attr.mode))))
		error = -EPROTO;
	if (!error) {
		inode = oxfs_inode_get(sb, ask, session->root);
		if (IS_ERR(inode))
			error = PTR_ERR(inode);
		else
			sb->s_root = d_make_root(inode);
		if (!error && !sb->s_root)
			error = -ENOMEM;
	}
	oxfs_transaction_put(ask);
	return error;
}

static int oxfs_fill_super(struct super_block *sb, struct fs_context *context)
{
	struct oxfs_session *session = sb->s_fs_info;
	int error;

	sb->s_magic = OXFS_MAGIC;
	sb->s_op = &oxfs_super_operations;
	sb->s_d_op = &oxfs_dentry_operations;
	sb->s_xattr = oxfs_xattr_handlers;
	sb->s_maxbytes = MAX_LFS_FILESIZE;
	sb->s_blocksize = PAGE_SIZE;
	sb->s_blocksize_bits = PAGE_SHIFT;
	sb->s_time_gran = 1;
	sb->s_flags |= SB_NOSEC | SB_NOATIME;
	/* Who dirties pages waits when its control group has many, and they are written for it: a
	 * group with little memory would fill that with dirty pages otherwise. */
	sb->s_iflags |= SB_I_CGROUPWB;
	error = super_setup_bdi(sb);
	if (error)
		return error;
	sb->s_bdi->ra_pages = session->io_bytes_max >> PAGE_SHIFT;
	sb->s_bdi->io_pages = session->io_bytes_max >> PAGE_SHIFT;
	error = oxfs_root(sb);
	if (!error)
		WRITE_ONCE(session->sb, sb);
	return error;
}

static int oxfs_begin_session(struct fs_context *context, struct oxfs_session *session)
{
	int error;

	session->options = *(const struct oxfs_options *)context->fs_private;
	session->options.read_only = context->sb_flags & SB_RDONLY;
	session->net = get_net(context->net_ns);
	error = oxfs_address(context, session);
	if (!error)
		error = oxfs_key(context, session);
	if (error)
		return error;
	error = oxfs_session_start(session);
	if (error) {
		errorf(context, "oxfs: %s: the server could not be reached, or refused: error %d",
		       session->host, error);
		oxfs_session_stop(session);
	}
	return error;
}

static int oxfs_get_tree(struct fs_context *context)
{
	struct oxfs_session *session = oxfs_session_new();
	int error;

	if (!session)
		return -ENOMEM;
	error = oxfs_begin_session(context, session);
	if (error) {
		oxfs_session_free(session);
		return error;
	}
	/* From here on it belongs to the super block, which ends it. */
	context->s_fs_info = session;
	error = get_tree_nodev(context, oxfs_fill_super);
	if (context->s_fs_info) {
		oxfs_session_stop(session);
		oxfs_session_free(session);
		context->s_fs_info = NULL;
	}
	return error;
}

static int oxfs_reconfigure(struct fs_context *context)
{
	struct super_block *sb = context->root->d_sb;

	sync_filesystem(sb);
	if (oxfs_session_of(sb)->options.read_only && !(context->sb_flags & SB_RDONLY))
		return invalf(context, "oxfs: the server was told that nothing will be written: "
				       "mount it again without ro");
	return 0;
}

static void oxfs_free_context(struct fs_context *context)
{
	kfree(context->fs_private);
}

static const struct fs_context_operations oxfs_context_operations = {
	.free = oxfs_free_context,
	.parse_param = oxfs_parse,
	.get_tree = oxfs_get_tree,
	.reconfigure = oxfs_reconfigure,
};

static int oxfs_init_context(struct fs_context *context)
{
	struct oxfs_options *options = kzalloc(sizeof(*options), GFP_KERNEL);

	if (!options)
		return -ENOMEM;
	options->port = OXFS_PORT;
	options->timeo = OXFS_TIMEO_SECONDS;
	context->fs_private = options;
	context->ops = &oxfs_context_operations;
	return 0;
}

static void oxfs_kill_sb(struct super_block *sb)
{
	struct oxfs_session *session = oxfs_session_of(sb);

	kill_anon_super(sb);
	if (session) {
		oxfs_session_stop(session);
		oxfs_session_free(session);
	}
}

static struct file_system_type oxfs_type = {
	.owner = THIS_MODULE,
	.name = "oxfs",
	.init_fs_context = oxfs_init_context,
	.parameters = oxfs_parameters,
	.kill_sb = oxfs_kill_sb,
};

/* ---- the module --------------------------------------------------------------------------- */

const struct cred *oxfs_kernel_cred;

static int __init oxfs_init(void)
{
	int error = oxfs_inodes_init();

	if (error)
		return error;
	error = -ENOMEM;
	oxfs_kernel_cred = prepare_kernel_cred(&init_task);
	if (!oxfs_kernel_cred)
		goto inodes;
	error = oxfs_transactions_init();
	if (error)
		goto cred;
	oxfs_counts_init();
	error = register_filesystem(&oxfs_type);
	if (!error)
		return 0;
	oxfs_counts_exit();
	oxfs_transactions_exit();
cred:
	put_cred(oxfs_kernel_cred);
inodes:
	oxfs_inodes_exit();
	return error;
}

static void __exit oxfs_exit(void)
{
	unregister_filesystem(&oxfs_type);
	oxfs_counts_exit();
	oxfs_transactions_exit();
	put_cred(oxfs_kernel_cred);
	oxfs_inodes_exit();
	pr_info("oxfs: left behind: %lld transactions\n",
		atomic64_read(&oxfs_counts[OXFS_COUNT_ALIVE]));
}

module_init(oxfs_init);
module_exit(oxfs_exit);
MODULE_ALIAS_FS("oxfs");
MODULE_DESCRIPTION("Client of the remote file system oxfs");
MODULE_LICENSE("GPL");
