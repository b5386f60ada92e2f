// SPDX-License-Identifier: GPL-2.0
/*
 * inode.c: inodes, found by the server's node and by type, and what is believed of them. A node
 * whose type changes is another inode: the old one becomes stale and can do no harm.
 *
 * Attributes are believed until they are recalled, and for OXFS_ATTR_SECONDS at most. While pages
 * are dirty, size is what this side says.
 *
 * Answers overtake each other, because the server works on several requests at a time. The
 * session's moments put in order what can be: an answer to a question from before a change of this
 * side's own is not taken; of two whose questions were under way together, the one with the lower
 * change number is older (the server's clock may be set back, so without that overlap the later
 * one is taken, whatever its number); one to a question from before a recall is taken, but the next
 * look asks again.
 */
#include <linux/pagemap.h>
#include <linux/slab.h>

#include "oxfs_client.h"

static struct kmem_cache *oxfs_inode_cache;

static void oxfs_inode_once(void *memory)
{
	struct oxfs_inode *inode = memory;

	inode_init_once(&inode->vfs);
}

int oxfs_inodes_init(void)
{
	oxfs_inode_cache = kmem_cache_create("oxfs_inode", sizeof(struct oxfs_inode), 0,
					     SLAB_RECLAIM_ACCOUNT | SLAB_ACCOUNT, oxfs_inode_once);
	return oxfs_inode_cache ? 0 : -ENOMEM;
}

void oxfs_inodes_exit(void)
{
	/* Inodes are freed after a grace period. */
	rcu_barrier();
	kmem_cache_destroy(oxfs_inode_cache);
}

struct inode *oxfs_inode_alloc(struct super_block *sb)
{
	struct oxfs_inode *inode = alloc_inode_sb(sb, oxfs_inode_cache, GFP_KERNEL);

	if (!inode)
		return NULL;
	memset(inode, 0, offsetof(struct oxfs_inode, vfs));
	mutex_init(&inode->dropping_lock);
	inode->cut_at = LLONG_MAX;
	INIT_LIST_HEAD(&inode->opens);
	INIT_LIST_HEAD(&inode->unsynced);
	return &inode->vfs;
}

void oxfs_inode_free(struct inode *inode)
{
	kmem_cache_free(oxfs_inode_cache, oxfs_i(inode));
}

void oxfs_inode_evict(struct inode *inode)
{
	struct oxfs_session *session = oxfs_session_i(inode);

	truncate_inode_pages_final(&inode->i_data);
	clear_inode(inode);
	spin_lock(&session->inodes_lock);
	list_del_init(&oxfs_i(inode)->unsynced);
	spin_unlock(&session->inodes_lock);
	oxfs_access_drop(inode);
}

/* ---- finding ------------------------------------------------------------------------------ */

struct oxfs_wanted {
	u64 node;
	u32 type; /* 0: any */
};

static int oxfs_inode_is(struct inode *inode, void *context)
{
	const struct oxfs_wanted *wanted = context;

	return oxfs_i(inode)->node == wanted->node &&
	       (!wanted->type || (inode->i_mode & S_IFMT) == wanted->type);
}

static int oxfs_inode_set(struct inode *inode, void *context)
{
	const struct oxfs_wanted *wanted = context;

	oxfs_i(inode)->node = wanted->node;
	inode->i_mode = wanted->type;
	return 0;
}

static unsigned long oxfs_hash(u64 node)
{
	return node ^ node >> 32;
}

/* The inode of a node, if there is one. */
struct inode *oxfs_inode_find(struct super_block *sb, u64 node)
{
	struct oxfs_wanted wanted = { .node = node };

	return ilookup5(sb, oxfs_hash(node), oxfs_inode_is, &wanted);
}

static bool oxfs_type_is_known(u32 mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
	case S_IFDIR:
	case S_IFLNK:
	case S_IFCHR:
	case S_IFBLK:
	case S_IFIFO:
	case S_IFSOCK:
		return true;
	}
	return false;
}

static void oxfs_inode_dress(struct inode *inode, const struct oxfs_attr *attr)
{
	u64 device = le64_to_cpu(attr->device);

	inode->i_flags |= S_NOATIME | S_NOCMTIME;
	inode->i_mapping->a_ops = &oxfs_pages_operations;
	mapping_set_gfp_mask(inode->i_mapping, GFP_HIGHUSER_MOVABLE);
	switch (inode->i_mode & S_IFMT) {
	case S_IFREG:
		inode->i_op = &oxfs_file_inode_operations;
		inode->i_fop = &oxfs_file_operations;
		break;
	case S_IFDIR:
		inode->i_op = &oxfs_folder_inode_operations;
		inode->i_fop = &oxfs_folder_operations;
		break;
	case S_IFLNK:
		inode->i_op = &oxfs_link_inode_operations;
		inode_nohighmem(inode);
		break;
	default:
		inode->i_op = &oxfs_file_inode_operations;
		init_special_inode(inode, inode->i_mode,
				   MKDEV((u32)(device >> 32) & 0xfff, (u32)device & MINORMASK));
	}
}

/* The inode of a node with attributes that have just come; an error as a pointer. */
struct inode *oxfs_inode_get(struct super_block *sb, const struct oxfs_transaction *answer,
			     u64 node)
{
	const struct oxfs_attr *attr = &answer->reply.attr;
	u32 mode = le32_to_cpu(attr->mode);
	struct oxfs_wanted wanted = { .node = node, .type = mode & S_IFMT };
	struct inode *inode;

	if (!node || !oxfs_type_is_known(mode)) {
		oxfs_count(OXFS_COUNT_REFUSED, 1);
		return ERR_PTR(-EIO);
	}
	inode = iget5_locked(sb, oxfs_hash(node), oxfs_inode_is, oxfs_inode_set, &wanted);
	if (!inode)
		return ERR_PTR(-ENOMEM);
	if (inode->i_state & I_NEW) {
		oxfs_inode_dress(inode, attr);
		/* A recall from now on waits until this inode is whole, and finds it. */
		oxfs_i(inode)->recalled_at = READ_ONCE(oxfs_session_of(sb)->recalled_at);
		oxfs_inode_update(inode, attr, answer->asked_at);
		unlock_new_inode(inode);
	}
	return inode;
}

/* The same for the node of a reply, of which it also takes the attributes. */
struct inode *oxfs_inode_of_reply(struct super_block *sb,
				  const struct oxfs_transaction *transaction)
{
	const struct oxfs_reply *reply = &transaction->reply;
	struct inode *inode;

	if (!(le32_to_cpu(reply->flags) & OXFS_REPLY_ATTR)) {
		oxfs_count(OXFS_COUNT_REFUSED, 1);
		return ERR_PTR(-EIO);
	}
	inode = oxfs_inode_get(sb, transaction, le64_to_cpu(reply->node));
	if (!IS_ERR(inode))
		oxfs_inode_update(inode, &reply->attr, transaction->asked_at);
	return inode;
}

/* ---- what is believed --------------------------------------------------------------------- */

static struct timespec64 oxfs_time(const struct oxfs_time *time)
{
	struct timespec64 to = {
		.tv_sec = (s64)le64_to_cpu(time->seconds),
		.tv_nsec = min_t(u32, le32_to_cpu(time->nanoseconds), NSEC_PER_SEC - 1),
	};

	return to;
}

static bool oxfs_inode_is_dirty(struct inode *inode)
{
	return S_ISREG(inode->i_mode) &&
	       (mapping_tagged(inode->i_mapping, PAGECACHE_TAG_DIRTY) ||
		mapping_tagged(inode->i_mapping, PAGECACHE_TAG_WRITEBACK));
}

static void oxfs_inode_set_size(struct inode *inode, u64 size)
{
	loff_t old = i_size_read(inode);

	if (size > (u64)inode->i_sb->s_maxbytes) {
		oxfs_count(OXFS_COUNT_REFUSED, 1);
		size = inode->i_sb->s_maxbytes;
	}
	if (size == old || (size < old && oxfs_inode_is_dirty(inode)))
		return;
	i_size_write(inode, size);
	/* Pages beyond are dropped by who may sleep. */
	if (size < old)
		WRITE_ONCE(oxfs_i(inode)->data_stale, true);
}

/* Whether something newer is known already than an answer with this change number. The lock is
 * held. */
static bool oxfs_inode_is_newer(struct inode *inode, u64 change, u64 asked_at)
{
	struct oxfs_inode *mine = oxfs_i(inode);

	if (asked_at < mine->changed_at)
		return true;
	return asked_at < mine->learnt_at && mine->epoch == oxfs_session_i(inode)->epoch &&
	       (s64)(change - mine->change) < 0;
}

/* Takes attributes of an answer to a question that was asked at this moment. 1: something newer is
 * known; whether all that the answer knows is in it, the server has to be asked. Process or
 * softirq. */
int oxfs_inode_update(struct inode *inode, const struct oxfs_attr *attr, u64 asked_at)
{
	struct oxfs_session *session = oxfs_session_i(inode);
	struct oxfs_inode *mine = oxfs_i(inode);
	u32 mode = le32_to_cpu(attr->mode);
	u64 change = le64_to_cpu(attr->change);

	if ((mode & S_IFMT) != (inode->i_mode & S_IFMT)) {
		oxfs_inode_forget(inode);
		return -ESTALE;
	}
	spin_lock_bh(&session->lock);
	if (oxfs_inode_is_newer(inode, change, asked_at)) {
		if (mine->change != change)
			mine->attr_valid = false;
		spin_unlock_bh(&session->lock);
		return 1;
	}
	mine->learnt_at = ++session->moment;
	if (mine->change != change || mine->epoch != session->epoch) {
		if (mine->change != change) {
			if (mine->attr_valid || mine->epoch)
				mine->access_known = 0;
			if (S_ISDIR(inode->i_mode))
				mine->entries++;
			else if (!oxfs_inode_is_dirty(inode))
				mine->data_stale = true;
		}
		mine->change = change;
		mine->epoch = session->epoch;
	}
	if (inode->i_mode != mode)
		inode->i_flags &= ~S_NOSEC;
	inode->i_ino = le64_to_cpu(attr->inode);
	inode->i_mode = mode;
	inode->i_uid = make_kuid(&init_user_ns, le32_to_cpu(attr->uid));
	inode->i_gid = make_kgid(&init_user_ns, le32_to_cpu(attr->gid));
	inode->i_blocks = le64_to_cpu(attr->blocks);
	set_nlink(inode, le32_to_cpu(attr->links));
	oxfs_set_times(inode, oxfs_time(&attr->access), oxfs_time(&attr->modified),
		       oxfs_time(&attr->changed));
	if (S_ISREG(inode->i_mode) || S_ISLNK(inode->i_mode) || S_ISDIR(inode->i_mode))
		oxfs_inode_set_size(inode, le64_to_cpu(attr->size));
	mine->attr_valid = !session->options.no_cache && asked_at >= mine->recalled_at;
	mine->attr_until = jiffies + OXFS_ATTR_SECONDS * HZ;
	spin_unlock_bh(&session->lock);
	return 0;
}

/* This side changes something: answers that are on their way are older. */
void oxfs_inode_changed(struct inode *inode)
{
	struct oxfs_session *session = oxfs_session_i(inode);

	spin_lock_bh(&session->lock);
	oxfs_i(inode)->changed_at = ++session->moment;
	oxfs_i(inode)->attr_valid = false;
	spin_unlock_bh(&session->lock);
}

void oxfs_inode_forget(struct inode *inode)
{
	struct oxfs_session *session = oxfs_session_i(inode);

	spin_lock_bh(&session->lock);
	oxfs_i(inode)->recalled_at = ++session->moment;
	oxfs_i(inode)->attr_valid = false;
	oxfs_i(inode)->access_known = 0;
	spin_unlock_bh(&session->lock);
}

void oxfs_inode_forget_entries(struct inode *inode)
{
	struct oxfs_session *session = oxfs_session_i(inode);

	spin_lock_bh(&session->lock);
	oxfs_i(inode)->recalled_at = ++session->moment;
	oxfs_i(inode)->entries++;
	oxfs_i(inode)->attr_valid = false;
	spin_unlock_bh(&session->lock);
}

/* Before a recalled node is looked for: one that is not found may be in an answer on its way. */
void oxfs_inodes_recalled(struct oxfs_session *session)
{
	spin_lock_bh(&session->lock);
	session->recalled_at = ++session->moment;
	spin_unlock_bh(&session->lock);
}

bool oxfs_inode_is_fresh(struct inode *inode)
{
	struct oxfs_inode *mine = oxfs_i(inode);

	return READ_ONCE(mine->attr_valid) &&
	       READ_ONCE(mine->epoch) == READ_ONCE(oxfs_session_i(inode)->epoch) &&
	       time_before(jiffies, READ_ONCE(mine->attr_until));
}

/* Drops pages that the server's are newer than. The flag goes first, so that they can become stale
 * once more meanwhile. */
static int oxfs_inode_drop(struct inode *inode)
{
	struct oxfs_inode *mine = oxfs_i(inode);
	int error;

	if (!READ_ONCE(mine->data_stale))
		return 0;
	WRITE_ONCE(mine->dropping, true);
	/* Who finds pages that are not stale, because of this, finds that they are being dropped. */
	smp_store_release(&mine->data_stale, false);
	error = filemap_write_and_wait(inode->i_mapping);
	if (!error)
		error = invalidate_inode_pages2(inode->i_mapping);
	/* A page that is being used again at this moment is found by the next. */
	if (error == -EBUSY) {
		WRITE_ONCE(mine->data_stale, true);
		error = 0;
	}
	WRITE_ONCE(mine->dropping, false);
	return error;
}

/* Afterwards no page is there that was stale before: who finds another dropping them waits. */
int oxfs_inode_drop_stale(struct inode *inode)
{
	struct oxfs_inode *mine = oxfs_i(inode);
	int error;

	if (!S_ISREG(inode->i_mode) ||
	    (!smp_load_acquire(&mine->data_stale) && !READ_ONCE(mine->dropping)))
		return 0;
	error = mutex_lock_killable(&mine->dropping_lock);
	if (error)
		return error;
	error = oxfs_inode_drop(inode);
	mutex_unlock(&mine->dropping_lock);
	return error;
}

/* After a change of names by this side: what it knew before stays true if nobody else was there. */
void oxfs_folder_changed(struct inode *folder, const struct oxfs_transaction *transaction)
{
	struct oxfs_session *session = oxfs_session_i(folder);
	struct oxfs_inode *mine = oxfs_i(folder);

	spin_lock_bh(&session->lock);
	mine->changed_at = ++session->moment;
	mine->attr_valid = false;
	if (le32_to_cpu(transaction->reply.flags) & OXFS_REPLY_FOLDER &&
	    mine->change == oxfs_value(transaction, 4))
		mine->change = oxfs_value(transaction, 5);
	else
		mine->entries++;
	spin_unlock_bh(&session->lock);
}

/* Takes from the answer to a change of this side's own what it made of the node: the pages here are
 * those that the server has. Other answers that are on their way may be of before the change, and
 * are not believed. The result is the moment from which on they are. */
u64 oxfs_inode_adopt(struct inode *inode, const struct oxfs_transaction *transaction)
{
	u64 change = le64_to_cpu(transaction->reply.attr.change), changed_at;
	struct oxfs_session *session = oxfs_session_i(inode);
	struct oxfs_inode *mine = oxfs_i(inode);

	spin_lock_bh(&session->lock);
	/* Of several changes under way, the answer to the last need not come last. */
	if (le32_to_cpu(transaction->reply.flags) & OXFS_REPLY_ATTR &&
	    (s64)(change - mine->change) > 0)
		mine->change = change;
	changed_at = mine->changed_at = ++session->moment;
	/* A recall has overtaken it: its attributes are taken, but the next look asks again. */
	if (transaction->asked_at < mine->recalled_at)
		mine->recalled_at = ++session->moment;
	spin_unlock_bh(&session->lock);
	return changed_at;
}

/* The same for a change whose caller was killed before it was answered: nobody has dropped the
 * pages that it makes stale. Process context. */
void oxfs_inode_orphan(struct oxfs_transaction *transaction)
{
	struct inode *inode = transaction->inode;

	WRITE_ONCE(oxfs_i(inode)->data_stale, true);
	oxfs_inode_changed(inode);
	if (transaction->operation == OXFS_WRITE)
		oxfs_inode_written(inode);
}
