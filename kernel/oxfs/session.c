// SPDX-License-Identifier: GPL-2.0
/*
 * session.c: the connection of a mount, and what survives it. `recovery` is the one place where the
 * connection is made, at mount and after each loss: it closes the endpoint (after which no memory
 * of a transaction is in use), opens another, says HELLO, has opens and locks reclaimed by a server
 * that was started again, and sends what waits. `watch` asks a silent server whether it lives.
 */
#include <linux/jiffies.h>
#include <linux/key.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "oxfs_client.h"

#define OXFS_GOODBYE_SECONDS 5
#define OXFS_HELLO_SECONDS_MAX 10u
#define OXFS_LEASE_MS_MIN 1000u
#define OXFS_LEASE_MS_MAX 3600000u

static void oxfs_recovery(struct work_struct *work);
static void oxfs_watch(struct work_struct *work);

struct oxfs_session *oxfs_session_new(void)
{
	struct oxfs_session *session = kvzalloc(sizeof(*session), GFP_KERNEL);

	if (!session)
		return NULL;
	get_random_bytes(session->client, sizeof(session->client));
	get_random_bytes(&session->secret, sizeof(session->secret));
	init_rwsem(&session->gate);
	spin_lock_init(&session->lock);
	spin_lock_init(&session->inodes_lock);
	INIT_LIST_HEAD(&session->waiting);
	INIT_LIST_HEAD(&session->active);
	INIT_LIST_HEAD(&session->opens);
	INIT_LIST_HEAD(&session->unsynced);
	init_waitqueue_head(&session->slots_free);
	init_waitqueue_head(&session->idle);
	sema_init(&session->room, OXFS_ROOM);
	sema_init(&session->lock_waits, OXFS_LOCK_WAITS_MAX);
	INIT_WORK(&session->recovery, oxfs_recovery);
	INIT_DELAYED_WORK(&session->watch, oxfs_watch);
	init_completion(&session->first);
	oxfs_counts_add(session);
	oxfs_recalls_init(session);
	session->works = alloc_workqueue("oxfs", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	session->recallers = alloc_workqueue("oxfs-recall", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	session->leavers = alloc_workqueue("oxfs-leave", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (session->works && session->recallers && session->leavers)
		return session;
	oxfs_session_free(session);
	return NULL;
}

/* After oxfs_session_stop, or if it was never started. */
void oxfs_session_free(struct oxfs_session *session)
{
	oxfs_counts_remove(session);
	if (session->recallers)
		destroy_workqueue(session->recallers);
	if (session->leavers)
		destroy_workqueue(session->leavers);
	if (session->works)
		destroy_workqueue(session->works);
	if (session->net)
		put_net(session->net);
	key_put(session->key);
	/* A walk through names that takes no lock may still look at it. */
	kvfree_rcu(session, rcu);
}

/* The connection is to be made anew. Any context. */
void oxfs_session_lost(struct oxfs_session *session)
{
	WRITE_ONCE(session->lost, true);
	if (!READ_ONCE(session->stopping))
		queue_work(session->works, &session->recovery);
}

static void oxfs_peer_lost(struct oxk_endpoint *endpoint, oxk_peer_t peer, int error, void *context)
{
	struct oxfs_session *session = context;

	session->peer_error = error;
	WRITE_ONCE(session->peer_down, true);
	oxfs_session_lost(session);
	wake_up(&session->idle);
}

/* Only recalls may come unasked; other messages answer nothing that is still asked. */
static enum oxk_verdict oxfs_unexpected(const struct oxk_arrival *arrival,
					struct oxk_request **request, struct oxk_vector *into,
					void *context)
{
	return arrival->match >> OXFS_KIND_SHIFT == OXFS_RECALL ? OXK_CONTINUE : OXK_FINISHED;
}

/* Afterwards no memory of a transaction is in use. */
void oxfs_session_close(struct oxfs_session *session)
{
	struct oxk_endpoint *endpoint = session->endpoint;

	if (!endpoint)
		return;
	oxfs_counts_keep(session);
	oxk_close(endpoint);
}

/* ---- HELLO -------------------------------------------------------------------------------- */

/* Takes one out of those that wait. */
static struct oxfs_transaction *oxfs_next_waiting(
	struct oxfs_session *session, bool (*is_wanted)(const struct oxfs_transaction *transaction))
{
	struct oxfs_transaction *transaction, *found = NULL;

	spin_lock_bh(&session->lock);
	list_for_each_entry(transaction, &session->waiting, list) {
		if (is_wanted && !is_wanted(transaction))
			continue;
		list_del_init(&transaction->list);
		found = transaction;
		break;
	}
	spin_unlock_bh(&session->lock);
	return found;
}

/* The server knows nothing of the session of before: there is another, in which nothing is in
 * doubt, because what was fails. */
static void oxfs_session_forgotten(struct oxfs_session *session)
{
	struct oxfs_transaction *transaction;
	u32 n = 0;

	while ((transaction = oxfs_next_waiting(session, oxfs_transaction_is_lost))) {
		oxfs_transaction_fail(transaction, -EIO);
		n++;
	}
	pr_warn("oxfs: %s: the server has ended the session; changes that may be done or not: %u\n",
		session->host, n);
	spin_lock_bh(&session->lock);
	list_for_each_entry(transaction, &session->waiting, list)
		transaction->in_doubt = false;
	spin_unlock_bh(&session->lock);
}

static int oxfs_hello_take(struct oxfs_session *session, struct oxfs_transaction *hello)
{
	u64 id = oxfs_value(hello, 0), slots = oxfs_value(hello, 1), bytes = oxfs_value(hello, 2);
	u64 lease = oxfs_value(hello, 3), root = le64_to_cpu(hello->reply.node);
	bool known = oxfs_value(hello, 5) & OXFS_SESSION_KNOWN;
	u32 i;

	if (!id || !slots || bytes < PAGE_SIZE || !root || (known && id != session->id) ||
	    (session->root && root != session->root))
		return -EPROTO;
	if (session->begun && id != session->id)
		oxfs_session_forgotten(session);
	spin_lock_bh(&session->lock);
	session->io_bytes_max = min_t(u64, bytes, OXFS_DATA_MAX) & PAGE_MASK;
	session->lease_ms = clamp_t(u64, lease, OXFS_LEASE_MS_MIN, OXFS_LEASE_MS_MAX);
	session->boot = oxfs_value(hello, 4);
	session->root = root;
	session->epoch++;
	session->heard = jiffies;
	if (id != session->id) {
		/* Slots begin anew; who has one is the first in it. */
		session->id = id;
		session->n_slots = max_t(u32, session->n_slots, min_t(u64, slots, OXFS_SLOTS_MAX));
		if (session->options.bounce)
			session->n_slots = min(session->n_slots, 2 * OXFS_BOUNCE_ROOM);
		for (i = 0; i < OXFS_SLOTS_MAX; i++) {
			struct oxfs_slot *slot = &session->slots[i];

			slot->taken &= !slot->torn;
			slot->torn = false;
			slot->sequence = slot->taken;
		}
	}
	spin_unlock_bh(&session->lock);
	wake_up_all(&session->slots_free);
	return known ? 0 : 1;
}

/* 0, 1: the server knows nothing of before, or an error. */
static int oxfs_hello(struct oxfs_session *session)
{
	struct oxfs_transaction *hello = oxfs_transaction_new(session, OXFS_HELLO, current_cred());
	int error;

	oxfs_transaction_argument(hello, 0, OXFS_VERSION);
	oxfs_transaction_argument(hello, 1, session->client[0]);
	oxfs_transaction_argument(hello, 2, session->client[1]);
	oxfs_transaction_argument(hello, 3, session->options.read_only ? OXFS_HELLO_READ_ONLY : 0);
	error = oxfs_transaction_special(hello,
					 min(session->options.timeo, OXFS_HELLO_SECONDS_MAX));
	/* Why there is no connection says more than that there is none. */
	if (error == -ENOTCONN && READ_ONCE(session->peer_down) && session->peer_error)
		error = session->peer_error;
	if (!error)
		error = oxfs_hello_take(session, hello);
	/* Its memory is oxk's until then. */
	if (error < 0)
		oxfs_session_close(session);
	oxfs_transaction_put(hello);
	return error;
}

static int oxfs_connect(struct oxfs_session *session)
{
	struct oxk_params params = {
		.net = session->net,
		.key = session->key,
		.requests = OXFS_OXK_REQUESTS,
		.peers = 1,
		.eager_bytes = OXFS_OXK_EAGER_BYTES,
		.unexpected_bytes = OXFS_OXK_UNEXPECTED_BYTES,
		.pieces = OXFS_OXK_PIECES,
		.bounce_bytes = session->options.bounce ? OXFS_BOUNCE_BYTES : 0,
		.unexpected = oxfs_unexpected,
		.peer_lost = oxfs_peer_lost,
		.context = session,
	};
	struct oxk_endpoint *endpoint;
	int address_bytes = session->address.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
								   : sizeof(struct sockaddr_in);
	int error;

	error = oxk_open(&params, &endpoint);
	if (error)
		return error;
	oxfs_counts_begin(session, endpoint);
	WRITE_ONCE(session->peer_down, false);
	WRITE_ONCE(session->lost, false);
	error = oxfs_recalls_post(session);
	if (!error)
		error = oxk_connect(session->endpoint, (struct sockaddr *)&session->address,
				    address_bytes, &session->peer);
	if (!error)
		error = oxfs_hello(session);
	if (error == 1 && session->begun)
		error = oxfs_opens_reclaim(session);
	if (error < 0) {
		oxfs_session_close(session);
		return error;
	}
	return 0;
}

/* ---- recovery ----------------------------------------------------------------------------- */

static bool oxfs_is_late(const struct oxfs_transaction *transaction)
{
	return transaction->deadline && time_after(jiffies, transaction->deadline);
}

static void oxfs_fail_waiting(struct oxfs_session *session, bool all)
{
	struct oxfs_transaction *transaction;

	while ((transaction = oxfs_next_waiting(session, all ? NULL : oxfs_is_late)))
		oxfs_transaction_fail(transaction, all ? -EIO : -ETIMEDOUT);
}

static void oxfs_resume(struct oxfs_session *session)
{
	struct oxfs_transaction *transaction;
	LIST_HEAD(list);

	down_write(&session->gate);
	session->state = OXFS_UP;
	WRITE_ONCE(session->forced, false);
	spin_lock_bh(&session->lock);
	list_splice_init(&session->waiting, &list);
	spin_unlock_bh(&session->lock);
	up_write(&session->gate);
	for (;;) {
		spin_lock_bh(&session->lock);
		transaction = list_first_entry_or_null(&list, struct oxfs_transaction, list);
		if (transaction)
			list_del_init(&transaction->list);
		spin_unlock_bh(&session->lock);
		if (!transaction)
			break;
		oxfs_count(OXFS_COUNT_REPEATED, 1);
		oxfs_transaction_post(transaction);
	}
	down_read(&session->gate);
	if (session->state == OXFS_UP && oxfs_recalls_post(session))
		oxfs_session_lost(session);
	up_read(&session->gate);
}

static bool oxfs_must_mend(struct oxfs_session *session)
{
	bool must;

	down_write(&session->gate);
	must = session->state != OXFS_GONE &&
	       (session->state == OXFS_DOWN || READ_ONCE(session->lost));
	if (must)
		session->state = OXFS_DOWN;
	up_write(&session->gate);
	return must;
}

/* Whether there is more to do than to wait for a server. */
static bool oxfs_must_hurry(struct oxfs_session *session)
{
	return READ_ONCE(session->stopping) ||
	       (READ_ONCE(session->forced) && !list_empty_careful(&session->waiting));
}

static void oxfs_recovery(struct work_struct *work)
{
	struct oxfs_session *session = container_of(work, struct oxfs_session, recovery);
	u32 pause_ms_max = session->options.soft ? 1000 : OXFS_RECONNECT_MS_MAX;
	u32 pause_ms = OXFS_RECONNECT_MS;
	unsigned int flags;
	int error;

	if (!oxfs_must_mend(session))
		return;
	flags = memalloc_noio_save();
	oxfs_session_close(session);
	while (!READ_ONCE(session->stopping)) {
		oxfs_fail_waiting(session, READ_ONCE(session->forced));
		error = oxfs_connect(session);
		if (!session->begun) {
			session->first_error = error;
			session->begun = !error;
			if (!error)
				oxfs_resume(session);
			complete_all(&session->first);
			break;
		}
		if (!error) {
			oxfs_count(OXFS_COUNT_RECONNECTS, 1);
			pr_info("oxfs: %s: connected again\n", session->host);
			oxfs_resume(session);
			break;
		}
		pr_info_ratelimited("oxfs: %s: no connection: error %d; trying again\n",
				    session->host, error);
		wait_event_timeout(session->idle, oxfs_must_hurry(session),
				   msecs_to_jiffies(pause_ms));
		pause_ms = min(pause_ms * 2, pause_ms_max);
	}
	memalloc_noio_restore(flags);
}

/* ---- a silent server ---------------------------------------------------------------------- */

static void oxfs_renewed(struct oxfs_transaction *transaction)
{
	WRITE_ONCE(transaction->session->renewing, false);
}

static void oxfs_renew(struct oxfs_session *session)
{
	struct oxfs_transaction *renew = oxfs_transaction_new(session, OXFS_RENEW, current_cred());

	WRITE_ONCE(session->renewing, true);
	renew->room = NULL;
	renew->done = oxfs_renewed;
	oxfs_transaction_submit(renew, false);
	oxfs_transaction_put(renew);
}

static bool oxfs_is_silent(struct oxfs_session *session, unsigned long *heard)
{
	unsigned long limit = session->options.timeo * HZ;
	struct oxfs_transaction *transaction;
	bool silent = false;

	spin_lock_bh(&session->lock);
	*heard = session->heard;
	list_for_each_entry(transaction, &session->active, list) {
		if (transaction->endless)
			continue;
		if (transaction->deadline && time_after(jiffies, transaction->deadline))
			silent = true;
		if (time_after(jiffies, session->heard + limit) &&
		    time_after(jiffies, transaction->posted + limit))
			silent = true;
	}
	spin_unlock_bh(&session->lock);
	return silent;
}

static void oxfs_watch(struct work_struct *work)
{
	struct oxfs_session *session =
		container_of(to_delayed_work(work), struct oxfs_session, watch);
	unsigned long heard, pause;

	if (READ_ONCE(session->state) == OXFS_UP) {
		pause = min_t(unsigned long, msecs_to_jiffies(session->lease_ms),
			      session->options.timeo *HZ) /
			3;
		if (oxfs_is_silent(session, &heard)) {
			pr_info_ratelimited("oxfs: %s: no answer; connecting again\n",
					    session->host);
			oxfs_session_lost(session);
		} else if (time_after(jiffies, heard + pause) && !READ_ONCE(session->renewing)) {
			oxfs_renew(session);
		}
		oxfs_slots_mend(session);
	}
	if (!READ_ONCE(session->stopping))
		queue_delayed_work(session->works, &session->watch, HZ / 2);
}

/* ---- begin and end ------------------------------------------------------------------------ */

int oxfs_session_start(struct oxfs_session *session)
{
	if (session->options.bounce)
		sema_init(&session->room, OXFS_BOUNCE_ROOM);
	queue_work(session->works, &session->recovery);
	if (wait_for_completion_killable(&session->first))
		return -EINTR;
	if (!session->first_error)
		queue_delayed_work(session->works, &session->watch, HZ / 2);
	return session->first_error;
}

/* umount -f: what waits for the server fails, now and until the server is there again. */
void oxfs_session_force(struct oxfs_session *session)
{
	WRITE_ONCE(session->forced, true);
	oxfs_session_lost(session);
	wake_up(&session->idle);
	wake_up_all(&session->slots_free);
}

static void oxfs_goodbye(struct oxfs_session *session)
{
	struct oxfs_transaction *goodbye =
		oxfs_transaction_new(session, OXFS_GOODBYE, current_cred());

	if (session->endpoint && !READ_ONCE(session->peer_down))
		oxfs_transaction_special(goodbye, OXFS_GOODBYE_SECONDS);
	oxfs_session_close(session);
	oxfs_transaction_put(goodbye);
}

/* A second time it does nothing. */
void oxfs_session_stop(struct oxfs_session *session)
{
	bool up;
	int i;

	if (session->stopping)
		return;
	WRITE_ONCE(session->stopping, true);
	wake_up(&session->idle);
	cancel_delayed_work_sync(&session->watch);
	cancel_work_sync(&session->recovery);
	down_write(&session->gate);
	up = session->state == OXFS_UP;
	session->state = OXFS_GONE;
	up_write(&session->gate);
	/* One that was queued by who had not seen yet that this begins. */
	cancel_work_sync(&session->recovery);
	wake_up_all(&session->slots_free);
	if (up)
		oxfs_goodbye(session);
	oxfs_session_close(session);
	oxfs_fail_waiting(session, true);
	/* What one lets go of may be the last name of another. */
	for (i = 0; i < 2; i++) {
		flush_workqueue(session->recallers);
		flush_workqueue(session->leavers);
	}
}
