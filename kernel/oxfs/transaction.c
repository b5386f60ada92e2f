// SPDX-License-Identifier: GPL-2.0
/*
 * transaction.c: one request and its reply. A transaction is at most four messages: the request,
 * the reply, and data one way. Its receives are posted before its request is sent, so what comes
 * goes straight to its place, and a reply that no transaction waits for is thrown away.
 *
 * A transaction is over when it has been answered. When the connection is lost before that, it
 * waits and is sent again, with a new number but the same slot and sequence: by these the server
 * knows what it has done already. It is never finished while oxk uses its memory: `pending` counts.
 * If the server has ended the session meanwhile, it knows nothing: what may have been done then,
 * and would do harm if it were done again, fails (`oxfs_transaction_is_lost`).
 *
 * A caller that is killed leaves its transaction behind, which goes on without it (`abandoned`).
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "oxfs_client.h"

#define OXFS_POOL_MIN 16

static struct kmem_cache *oxfs_transaction_cache;
static mempool_t *oxfs_transaction_pool;
static mempool_t *oxfs_bvec_pool;

int oxfs_transactions_init(void)
{
	oxfs_transaction_cache = KMEM_CACHE(oxfs_transaction, SLAB_ACCOUNT);
	if (!oxfs_transaction_cache)
		return -ENOMEM;
	oxfs_transaction_pool = mempool_create_slab_pool(OXFS_POOL_MIN, oxfs_transaction_cache);
	oxfs_bvec_pool =
		mempool_create_kmalloc_pool(OXFS_POOL_MIN, OXFS_PAGES_MAX * sizeof(struct bio_vec));
	if (oxfs_transaction_pool && oxfs_bvec_pool)
		return 0;
	oxfs_transactions_exit();
	return -ENOMEM;
}

void oxfs_transactions_exit(void)
{
	mempool_destroy(oxfs_bvec_pool);
	mempool_destroy(oxfs_transaction_pool);
	kmem_cache_destroy(oxfs_transaction_cache);
}

/* ---- making ------------------------------------------------------------------------------- */

static void oxfs_transaction_cred(struct oxfs_request *request, const struct cred *cred)
{
	const struct group_info *groups = cred->group_info;
	__le32 *to = (__le32 *)(request + 1);
	u32 n = min_t(u32, groups->ngroups, OXFS_GROUPS_MAX);
	u32 i;

	request->uid = cpu_to_le32(from_kuid(&init_user_ns, cred->fsuid));
	request->gid = cpu_to_le32(from_kgid(&init_user_ns, cred->fsgid));
	for (i = 0; i < n; i++)
		to[i] = cpu_to_le32(from_kgid(&init_user_ns, groups->gid[i]));
	request->n_groups = cpu_to_le16(n);
}

/* Never fails: memory comes from a pool, and who asks may sleep. */
struct oxfs_transaction *oxfs_transaction_new(struct oxfs_session *session, u32 operation,
					      const struct cred *cred)
{
	struct oxfs_transaction *transaction = mempool_alloc(oxfs_transaction_pool, GFP_NOFS);

	memset(transaction, 0, sizeof(*transaction));
	oxfs_count(OXFS_COUNT_ALIVE, 1);
	refcount_set(&transaction->references, 1);
	INIT_LIST_HEAD(&transaction->list);
	init_completion(&transaction->over);
	transaction->session = session;
	transaction->operation = operation;
	transaction->room = &session->room;
	oxfs_transaction_cred(&transaction->request, cred);
	transaction->request_bytes = sizeof(struct oxfs_request) +
				     le16_to_cpu(transaction->request.n_groups) * sizeof(__le32);
	return transaction;
}

static void oxfs_transaction_free_pages(struct oxfs_transaction *transaction)
{
	u32 i;

	for (i = 0; transaction->pinned && i < transaction->n_pages; i++) {
		struct page *page = transaction->pages[i].bv_page;

		oxfs_extracted_free(&page, 1, !transaction->outward);
	}
	mempool_free(transaction->pages, oxfs_bvec_pool);
}

static void oxfs_transaction_free(struct oxfs_transaction *transaction)
{
	if (transaction->pages)
		oxfs_transaction_free_pages(transaction);
	if (transaction->open)
		oxfs_open_put(transaction->open);
	if (transaction->inode)
		iput(transaction->inode);
	kvfree(transaction->memory);
	oxfs_count(OXFS_COUNT_ALIVE, -1);
	mempool_free(transaction, oxfs_transaction_pool);
}

/* For who asks. It may wait, for the server, too: with the last name of an inode pages are dropped,
 * and those that are being read or written are waited for. */
void oxfs_transaction_put(struct oxfs_transaction *transaction)
{
	if (refcount_dec_and_test(&transaction->references))
		oxfs_transaction_free(transaction);
}

static void oxfs_transaction_free_work(struct work_struct *work)
{
	oxfs_transaction_free(container_of(work, struct oxfs_transaction, work));
}

/* For who ends it: a softirq, and who mends the connection, for whom others wait. Neither may wait
 * for anything. */
static void oxfs_transaction_leave(struct oxfs_transaction *transaction)
{
	if (!refcount_dec_and_test(&transaction->references))
		return;
	if (!transaction->inode && !transaction->pinned) {
		oxfs_transaction_free(transaction);
		return;
	}
	INIT_WORK(&transaction->work, oxfs_transaction_free_work);
	queue_work(transaction->session->recallers, &transaction->work);
}

/* One name, or two. */
int oxfs_transaction_names(struct oxfs_transaction *transaction, const char *name, u32 bytes,
			   const char *name2, u32 bytes2)
{
	u8 *to = transaction->bytes + transaction->request_bytes;

	if (bytes > OXFS_NAME_MAX || bytes2 > OXFS_NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(to, name, bytes);
	if (bytes2)
		memcpy(to + bytes, name2, bytes2);
	transaction->request.name_bytes = cpu_to_le16(bytes);
	transaction->request.name2_bytes = cpu_to_le16(bytes2);
	transaction->request_bytes += bytes + bytes2;
	return 0;
}

/* The node that is asked about; inode and open are held until it is over. */
void oxfs_transaction_inode(struct oxfs_transaction *transaction, struct inode *inode,
			    struct oxfs_open *open)
{
	ihold(inode);
	transaction->inode = inode;
	transaction->request.node = cpu_to_le64(oxfs_i(inode)->node);
	if (open) {
		refcount_inc(&open->references);
		transaction->open = open;
	}
}

/* The node of an open, by that: the file may be closed meanwhile. */
void oxfs_transaction_open(struct oxfs_transaction *transaction, struct oxfs_open *open)
{
	refcount_inc(&open->references);
	transaction->open = open;
	transaction->request.node = cpu_to_le64(open->node);
}

int oxfs_transaction_memory(struct oxfs_transaction *transaction, u32 bytes, bool outward)
{
	transaction->memory = kvmalloc(max(bytes, 1u), GFP_NOFS);
	if (!transaction->memory)
		return -ENOMEM;
	transaction->memory_vec.iov_base = transaction->memory;
	transaction->memory_vec.iov_len = bytes;
	transaction->data_max = bytes;
	transaction->outward = outward;
	return 0;
}

/* Room for OXFS_PAGES_MAX pages, which the caller fills in with n_pages and data_max. */
int oxfs_transaction_pages(struct oxfs_transaction *transaction)
{
	transaction->pages = mempool_alloc(oxfs_bvec_pool, GFP_NOFS);
	return transaction->pages ? 0 : -ENOMEM;
}

void oxfs_transaction_argument(struct oxfs_transaction *transaction, u32 index, u64 value)
{
	transaction->request.arguments[index] = cpu_to_le64(value);
}

/* ---- the end ------------------------------------------------------------------------------ */

/* What the reply says: 0, an errno, or -EIO if it makes no sense. */
static int oxfs_transaction_result(struct oxfs_transaction *transaction)
{
	u32 error = le32_to_cpu(transaction->reply.error);
	u64 bytes = le64_to_cpu(transaction->reply.data_bytes);

	if (error > MAX_ERRNO ||
	    (bytes && (transaction->outward || bytes > transaction->data_max))) {
		oxfs_count(OXFS_COUNT_REFUSED, 1);
		return -EIO;
	}
	transaction->data_here = error ? 0 : bytes;
	return -(int)error;
}

static void oxfs_transaction_orphaned(struct work_struct *work)
{
	struct oxfs_transaction *transaction = container_of(work, struct oxfs_transaction, work);

	transaction->orphan(transaction);
	oxfs_transaction_put(transaction);
}

static void oxfs_transaction_finish(struct oxfs_transaction *transaction, int error)
{
	struct oxfs_session *session = transaction->session;
	bool abandoned;

	transaction->error = error;
	spin_lock_bh(&session->lock);
	list_del_init(&transaction->list);
	if (transaction->slot_kind != OXFS_SLOTLESS)
		oxfs_slot_leave(transaction);
	if (transaction->answered)
		session->heard = jiffies;
	abandoned = transaction->abandoned;
	transaction->finished = true;
	spin_unlock_bh(&session->lock);
	if (transaction->slot_kind != OXFS_SLOTLESS)
		wake_up(&session->slots_free);
	if (transaction->room)
		up(transaction->room);
	if (!abandoned) {
		if (transaction->done)
			transaction->done(transaction);
		complete_all(&transaction->over);
	} else if (transaction->orphan && transaction->answered && !error) {
		INIT_WORK(&transaction->work, oxfs_transaction_orphaned);
		queue_work(session->leavers, &transaction->work);
		return;
	}
	oxfs_transaction_leave(transaction);
	wake_up(&session->idle);
}

/* Whether nobody knows if the server has done it, once its session is over, and it would make a
 * difference to do it again. An open goes with the session, a lock is asked for and granted again,
 * and what was written at a place is written there once more. */
bool oxfs_transaction_is_lost(const struct oxfs_transaction *transaction)
{
	if (!transaction->in_doubt || transaction->slot_kind == OXFS_SLOTLESS)
		return false;
	switch (transaction->operation) {
	case OXFS_WRITE:
		return transaction->request.arguments[0] == cpu_to_le64(OXFS_APPEND);
	case OXFS_OPEN:
	case OXFS_CLOSE:
	case OXFS_LOCK:
		return false;
	default:
		return true;
	}
}

/* Of one that waits and is not being sent. */
void oxfs_transaction_fail(struct oxfs_transaction *transaction, int error)
{
	transaction->answered = false;
	oxfs_transaction_finish(transaction, error);
}

static bool oxfs_transaction_is_whole(const struct oxfs_transaction *transaction)
{
	const struct oxk_status *data = &transaction->receive_data.status;

	if (!transaction->answered)
		return false;
	/* The server has ended the session meanwhile: another is begun, and this is asked there. */
	if (le32_to_cpu(transaction->reply.error) == OXFS_NO_SESSION && !transaction->special)
		return false;
	if (transaction->outward || transaction->reply.error || !transaction->reply.data_bytes)
		return true;
	return !data->error && data->bytes == le64_to_cpu(transaction->reply.data_bytes) &&
	       data->placed == data->bytes;
}

/* oxk has let go of all its memory. */
static void oxfs_transaction_settle(struct oxfs_transaction *transaction)
{
	struct oxfs_session *session = transaction->session;
	bool late;

	if (oxfs_transaction_is_whole(transaction)) {
		oxfs_transaction_finish(transaction, oxfs_transaction_result(transaction));
		return;
	}
	/* Data that do not fit their reply: the same would come again. */
	if (transaction->error) {
		oxfs_transaction_finish(transaction, transaction->error);
		return;
	}
	/* One that was refused for want of a session was not done, unless it was in doubt before. */
	if (transaction->posted_request && !transaction->answered)
		transaction->in_doubt = true;
	transaction->answered = false;
	late = transaction->deadline && time_after(jiffies, transaction->deadline);
	if (transaction->special || READ_ONCE(session->forced) || late) {
		if (!transaction->special)
			oxfs_session_lost(session);
		oxfs_transaction_finish(transaction, late		    ? -ETIMEDOUT
						     : transaction->special ? -ENOTCONN
									    : -EIO);
		return;
	}
	spin_lock_bh(&session->lock);
	list_move_tail(&transaction->list, &session->waiting);
	spin_unlock_bh(&session->lock);
	oxfs_session_lost(session);
}

static void oxfs_transaction_over(struct oxfs_transaction *transaction)
{
	if (atomic_dec_and_test(&transaction->pending))
		oxfs_transaction_settle(transaction);
}

/* ---- messages ----------------------------------------------------------------------------- */

static void oxfs_sent(struct oxk_request *request)
{
	oxfs_transaction_over(request->context);
}

static void oxfs_take_back(struct oxfs_transaction *transaction, struct oxk_request *request)
{
	if (!oxk_cancel(request))
		oxfs_transaction_over(transaction);
}

/* After the answer and after all was posted, whichever is later: what the server has not taken or
 * not sent by now, it never will. To take something back twice does no harm. */
static void oxfs_take_back_data(struct oxfs_transaction *transaction)
{
	if (!transaction->data_max)
		return;
	if (transaction->outward)
		oxfs_take_back(transaction, &transaction->send_data);
	else if (!transaction->answered || transaction->reply.error ||
		 !transaction->reply.data_bytes)
		oxfs_take_back(transaction, &transaction->receive_data);
}

static void oxfs_reached(struct oxfs_transaction *transaction, u32 one, u32 other)
{
	set_bit(one, &transaction->steps);
	smp_mb__after_atomic();
	if (test_bit(other, &transaction->steps))
		oxfs_take_back_data(transaction);
}

static void oxfs_replied(struct oxk_request *request)
{
	struct oxfs_transaction *transaction = request->context;
	const struct oxk_status *status = &request->status;

	if (!status->error && status->bytes == sizeof(struct oxfs_reply)) {
		transaction->answered = true;
		oxfs_reached(transaction, OXFS_STEP_REPLIED, OXFS_STEP_POSTED);
	} else if (!status->error || status->error == -EMSGSIZE) {
		oxfs_count(OXFS_COUNT_REFUSED, 1);
		transaction->error = -EIO;
		oxfs_reached(transaction, OXFS_STEP_REPLIED, OXFS_STEP_POSTED);
	}
	oxfs_transaction_over(transaction);
}

static void oxfs_data_here(struct oxk_request *request)
{
	struct oxfs_transaction *transaction = request->context;

	if (request->status.error == -EMSGSIZE || request->status.error == -EFAULT) {
		oxfs_count(OXFS_COUNT_REFUSED, 1);
		transaction->error = -EIO;
	}
	oxfs_transaction_over(transaction);
}

u64 oxfs_match(u32 kind, u32 operation, u64 number)
{
	return (u64)kind << OXFS_KIND_SHIFT | (u64)operation << OXFS_OPERATION_SHIFT |
	       (number & OXFS_TRANSACTION_MASK);
}

static void oxfs_data_vector(const struct oxfs_transaction *transaction, struct oxk_vector *vector)
{
	bool bounce = transaction->session->options.bounce;

	memset(vector, 0, sizeof(*vector));
	if (transaction->pages) {
		vector->kind = OXK_PAGES;
		vector->n = transaction->n_pages;
		vector->pages = transaction->pages;
		vector->flags = bounce ? OXK_BOUNCE : 0;
	} else {
		vector->kind = OXK_KERNEL;
		vector->n = 1;
		vector->kernel = &transaction->memory_vec;
	}
}

/* Posts one message; it counts as pending from before. */
static int oxfs_post_one(struct oxfs_transaction *transaction, u32 kind,
			 const struct oxk_vector *vector, struct oxk_request *request,
			 void (*done)(struct oxk_request *request))
{
	struct oxfs_session *session = transaction->session;
	u64 match = oxfs_match(kind, transaction->operation, transaction->number);
	int error;

	request->done = done;
	request->context = transaction;
	atomic_inc(&transaction->pending);
	if (kind == OXFS_REQUEST || kind == OXFS_DATA_OUT)
		error = oxk_isend(session->endpoint, session->peer, match, vector, request);
	else
		error = oxk_irecv(session->endpoint, match, OXK_MASK_FULL, vector, request);
	if (error)
		atomic_dec(&transaction->pending);
	return error;
}

static void oxfs_post_count(const struct oxfs_transaction *transaction)
{
	oxfs_count(OXFS_COUNT_REQUESTS, 1);
	if (!transaction->pages)
		return;
	oxfs_count(transaction->outward ? OXFS_COUNT_BYTES_OUT : OXFS_COUNT_BYTES_IN,
		   transaction->data_max);
	if (transaction->session->options.bounce)
		oxfs_count(OXFS_COUNT_BOUNCED, transaction->data_max);
}

static int oxfs_post_all(struct oxfs_transaction *transaction)
{
	struct kvec *send = &transaction->send_vec, *receive = &transaction->receive_vec;
	struct oxk_vector vector = { .kind = OXK_KERNEL, .n = 1, .kernel = receive };
	struct oxk_vector data;
	int error;

	memset(&transaction->send, 0, sizeof(transaction->send));
	memset(&transaction->send_data, 0, sizeof(transaction->send_data));
	memset(&transaction->receive, 0, sizeof(transaction->receive));
	memset(&transaction->receive_data, 0, sizeof(transaction->receive_data));
	transaction->steps = 0;
	receive->iov_base = &transaction->reply;
	receive->iov_len = sizeof(transaction->reply);
	send->iov_base = transaction->bytes;
	send->iov_len = transaction->request_bytes;
	oxfs_post_count(transaction);
	oxfs_data_vector(transaction, &data);
	if (transaction->data_max && !transaction->outward) {
		error = oxfs_post_one(transaction, OXFS_DATA_IN, &data, &transaction->receive_data,
				      oxfs_data_here);
		if (error)
			return error;
	}
	error = oxfs_post_one(transaction, OXFS_REPLY, &vector, &transaction->receive,
			      oxfs_replied);
	if (error)
		goto take_back_data;
	vector.kernel = send;
	error = oxfs_post_one(transaction, OXFS_REQUEST, &vector, &transaction->send, oxfs_sent);
	if (error)
		goto take_back;
	transaction->posted_request = true;
	if (transaction->data_max && transaction->outward) {
		error = oxfs_post_one(transaction, OXFS_DATA_OUT, &data, &transaction->send_data,
				      oxfs_sent);
		if (error)
			goto take_back;
	}
	oxfs_reached(transaction, OXFS_STEP_POSTED, OXFS_STEP_REPLIED);
	return 0;
take_back:
	oxfs_take_back(transaction, &transaction->receive);
take_back_data:
	if (transaction->data_max && !transaction->outward)
		oxfs_take_back(transaction, &transaction->receive_data);
	return error;
}

/* Sends it, over a connection that stays until this returns. */
static void oxfs_transaction_send(struct oxfs_transaction *transaction)
{
	struct oxfs_session *session = transaction->session;
	int error;

	spin_lock_bh(&session->lock);
	transaction->number = ++session->transaction;
	transaction->asked_at = ++session->moment;
	list_move_tail(&transaction->list, &session->active);
	transaction->posted = jiffies;
	transaction->sent = true;
	if (transaction->slot_kind != OXFS_SLOTLESS) {
		transaction->request.slot = cpu_to_le32(transaction->slot);
		transaction->request.sequence =
			cpu_to_le32(session->slots[transaction->slot].sequence);
	} else {
		transaction->request.slot = cpu_to_le32(OXFS_NO_SLOT);
	}
	spin_unlock_bh(&session->lock);
	transaction->answered = false;
	transaction->posted_request = false;
	transaction->error = 0;
	transaction->request.session = cpu_to_le64(session->id);
	if (transaction->open)
		transaction->request.open = cpu_to_le64(READ_ONCE(transaction->open->id));
	atomic_set(&transaction->pending, 1);
	error = oxfs_post_all(transaction);
	/* A lost connection is mended and it is sent again; anything else is its own failure. */
	if (error && error != -ENOTCONN && error != -ESHUTDOWN && error != -ECONNRESET)
		transaction->error = error;
	oxfs_transaction_over(transaction);
}

/* Sends it now, or has it wait until there is a connection. */
void oxfs_transaction_post(struct oxfs_transaction *transaction)
{
	struct oxfs_session *session = transaction->session;
	bool fail;

	down_read(&session->gate);
	if (session->state == OXFS_UP) {
		oxfs_transaction_send(transaction);
		up_read(&session->gate);
		return;
	}
	fail = session->state == OXFS_GONE || READ_ONCE(session->forced);
	if (!fail) {
		spin_lock_bh(&session->lock);
		list_move_tail(&transaction->list, &session->waiting);
		spin_unlock_bh(&session->lock);
	}
	up_read(&session->gate);
	if (fail)
		oxfs_transaction_fail(transaction, -EIO);
}

/* Begins it. On an error it was not begun, and `done` is not called. */
int oxfs_transaction_submit(struct oxfs_transaction *transaction, bool killable)
{
	struct oxfs_session *session = transaction->session;
	int error;

	if (transaction->slot_kind == OXFS_SLOT_DATA)
		transaction->room = NULL;
	if (transaction->room && killable && down_killable(transaction->room))
		return -EINTR;
	if (transaction->room && !killable)
		down(transaction->room);
	error = oxfs_slot_take(transaction, killable);
	if (error) {
		if (transaction->room)
			up(transaction->room);
		return error;
	}
	if (session->options.soft && !transaction->endless)
		transaction->deadline = (jiffies + session->options.timeo * HZ) | 1;
	refcount_inc(&transaction->references);
	oxfs_transaction_post(transaction);
	return 0;
}

/* Waits for one that was begun. -EINTR or -ERESTARTSYS: it goes on alone; its results are not to be
 * looked at. */
int oxfs_transaction_wait(struct oxfs_transaction *transaction, bool interruptible)
{
	struct oxfs_session *session = transaction->session;
	int error;

	if (!completion_done(&transaction->over))
		oxfs_count(OXFS_COUNT_WAKEUPS, 1);
	if (interruptible)
		error = wait_for_completion_interruptible(&transaction->over);
	else
		error = wait_for_completion_killable(&transaction->over);
	if (!error)
		return transaction->error;
	spin_lock_bh(&session->lock);
	if (!transaction->finished)
		transaction->abandoned = true;
	spin_unlock_bh(&session->lock);
	if (transaction->abandoned)
		return interruptible ? -ERESTARTSYS : -EINTR;
	wait_for_completion(&transaction->over);
	return transaction->error;
}

/* Does it and waits. */
int oxfs_transaction_call(struct oxfs_transaction *transaction)
{
	int error = oxfs_transaction_submit(transaction, true);

	return error ? error : oxfs_transaction_wait(transaction, false);
}

/* For who mends the connection: sends it though nobody else may, and does not repeat it. The caller
 * closes the endpoint if this fails, before it lets go of the transaction. */
int oxfs_transaction_special(struct oxfs_transaction *transaction, u32 seconds)
{
	struct oxfs_session *session = transaction->session;

	transaction->special = true;
	transaction->room = NULL;
	refcount_inc(&transaction->references);
	oxfs_transaction_send(transaction);
	wait_event_timeout(session->idle,
			   completion_done(&transaction->over) || READ_ONCE(session->peer_down),
			   seconds * HZ);
	if (completion_done(&transaction->over))
		return transaction->error;
	return READ_ONCE(session->peer_down) ? -ENOTCONN : -ETIMEDOUT;
}
