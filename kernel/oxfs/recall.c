// SPDX-License-Identifier: GPL-2.0
/*
 * recall.c: what the server wants forgotten before another client changes it. A recall is received
 * in a softirq, carried out by a work item, and answered; OXFS_RECALLS of them at a time.
 */
#include <linux/pagemap.h>

#include "oxfs_client.h"

static void oxfs_recalled(struct oxk_request *request);

/* From one state to another; false if it is in a third. */
static bool oxfs_recall_step(struct oxfs_recall_work *recall, enum oxfs_recall_state from,
			     enum oxfs_recall_state to)
{
	bool is = false;

	spin_lock_bh(&recall->session->lock);
	if (recall->state == from) {
		recall->state = to;
		is = true;
	}
	spin_unlock_bh(&recall->session->lock);
	return is;
}

/* Posts one that is idle. From a callback the endpoint may be on its way out, and no longer named:
 * it stays until the callback has returned, and recalls are posted to the next one. */
static int oxfs_recall_post(struct oxfs_recall_work *recall)
{
	struct oxk_vector vector = { .kind = OXK_KERNEL, .n = 1, .kernel = &recall->memory };
	struct oxk_endpoint *endpoint = READ_ONCE(recall->session->endpoint);
	int error;

	if (!endpoint)
		return -ESHUTDOWN;
	if (!oxfs_recall_step(recall, OXFS_RECALL_IDLE, OXFS_RECALL_POSTED))
		return 0;
	recall->memory.iov_base = &recall->message;
	recall->memory.iov_len = sizeof(recall->message);
	memset(&recall->request, 0, sizeof(recall->request));
	recall->request.done = oxfs_recalled;
	recall->request.context = recall;
	error = oxk_irecv(endpoint, oxfs_match(OXFS_RECALL, 0, 0), 0xfull << OXFS_KIND_SHIFT,
			  &vector, &recall->request);
	if (error)
		oxfs_recall_step(recall, OXFS_RECALL_POSTED, OXFS_RECALL_IDLE);
	return error;
}

static void oxfs_recall_answered(struct oxk_request *request)
{
	struct oxfs_recall_work *recall = request->context;
	int error = request->status.error;

	oxfs_recall_step(recall, OXFS_RECALL_BUSY, OXFS_RECALL_IDLE);
	if (!error && oxfs_recall_post(recall))
		oxfs_session_lost(recall->session);
}

static void oxfs_recall_answer(struct oxfs_recall_work *recall, oxk_peer_t peer, u64 match)
{
	struct oxfs_session *session = recall->session;
	struct oxk_vector nothing = { .kind = OXK_KERNEL, .n = 0 };
	u64 bits = (u64)OXFS_RECALLED << OXFS_KIND_SHIFT |
		   (match & ((1ull << OXFS_KIND_SHIFT) - 1));
	int error = -ENOTCONN;

	down_read(&session->gate);
	if (session->state == OXFS_UP && session->peer == peer) {
		memset(&recall->request, 0, sizeof(recall->request));
		recall->request.done = oxfs_recall_answered;
		recall->request.context = recall;
		error = oxk_isend(session->endpoint, peer, bits, &nothing, &recall->request);
	}
	if (error) {
		/* The connection was lost meanwhile: the next one's is posted. */
		oxfs_recall_step(recall, OXFS_RECALL_BUSY, OXFS_RECALL_IDLE);
		if (session->state == OXFS_UP && oxfs_recall_post(recall))
			oxfs_session_lost(session);
	}
	up_read(&session->gate);
}

static void oxfs_recall_carry_out(struct inode *inode, u32 what)
{
	if (what & OXFS_RECALL_DATA && S_ISREG(inode->i_mode)) {
		filemap_write_and_wait(inode->i_mapping);
		WRITE_ONCE(oxfs_i(inode)->data_stale, true);
		invalidate_inode_pages2(inode->i_mapping);
	}
	if (what & (OXFS_RECALL_ATTR | OXFS_RECALL_DATA))
		oxfs_inode_forget(inode);
	if (what & OXFS_RECALL_ENTRIES && S_ISDIR(inode->i_mode))
		oxfs_inode_forget_entries(inode);
}

static void oxfs_recall_work(struct work_struct *work)
{
	struct oxfs_recall_work *recall = container_of(work, struct oxfs_recall_work, work);
	struct oxfs_session *session = recall->session;
	oxk_peer_t peer = recall->request.status.peer;
	u64 match = recall->request.status.match;
	struct super_block *sb = READ_ONCE(session->sb);
	struct inode *inode;

	oxfs_inodes_recalled(session);
	inode = sb ? oxfs_inode_find(sb, le64_to_cpu(recall->message.node)) : NULL;
	if (inode) {
		oxfs_recall_carry_out(inode, le32_to_cpu(recall->message.what));
		iput(inode);
	}
	oxfs_recall_answer(recall, peer, match);
}

static void oxfs_recalled(struct oxk_request *request)
{
	struct oxfs_recall_work *recall = request->context;

	if (request->status.error && request->status.error != -EMSGSIZE) {
		oxfs_recall_step(recall, OXFS_RECALL_POSTED, OXFS_RECALL_IDLE);
		return;
	}
	oxfs_recall_step(recall, OXFS_RECALL_POSTED, OXFS_RECALL_BUSY);
	/* One of another length is answered, and means nothing. */
	if (request->status.error || request->status.bytes != sizeof(recall->message)) {
		oxfs_count(OXFS_COUNT_REFUSED, 1);
		memset(&recall->message, 0, sizeof(recall->message));
	}
	oxfs_count(OXFS_COUNT_RECALLS, 1);
	queue_work(recall->session->recallers, &recall->work);
}

void oxfs_recalls_init(struct oxfs_session *session)
{
	u32 i;

	for (i = 0; i < OXFS_RECALLS; i++) {
		session->recalls[i].session = session;
		INIT_WORK(&session->recalls[i].work, oxfs_recall_work);
	}
}

/* For a new endpoint, before and after it is announced: one that still writes pages back needs the
 * connection to end, and is posted then. */
int oxfs_recalls_post(struct oxfs_session *session)
{
	int error = 0;
	u32 i;

	for (i = 0; i < OXFS_RECALLS && !error; i++)
		error = oxfs_recall_post(&session->recalls[i]);
	return error;
}
