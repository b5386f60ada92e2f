// SPDX-License-Identifier: GPL-2.0
/*
 * request.c: the calls about requests, and how those that are over are told. Requests that are over
 * are called for one after the other with no lock held; a callback that makes more requests does
 * not make this deeper (oxk_settle).
 */
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/swait.h>

#include "oxk_shim.h"

/* The endpoint whose callbacks this CPU is calling. */
static DEFINE_PER_CPU(struct oxk_endpoint *, oxk_settling);

static void oxk_tell(struct oxk_endpoint *endpoint, struct oxk_request *request)
{
	void (*done)(struct oxk_request * request) = request->done;

	/* Whoever waits may free it from here on, unless there is `done`. */
	if (swait_active(&request->over.wait))
		oxk_add(endpoint, wakeups, 1);
	complete_all(&request->over);
	if (done)
		done(request);
}

/* The peer's callbacks have been called. */
static void oxk_told(struct oxk_endpoint *endpoint, u64 peer)
{
	struct oxk_link *link;

	if (!peer)
		return;
	spin_lock_bh(&endpoint->lock);
	link = oxk_link_of(endpoint, peer);
	if (link) {
		oxk_kick(link);
		if (!--link->n_calling)
			wake_up(&link->idle);
	}
	spin_unlock_bh(&endpoint->lock);
}

static void oxk_release_and_tell(struct oxk_endpoint *endpoint, struct oxk_request *request)
{
	u64 peer = request->status.peer;

	oxk_request_unbounce(endpoint, request);
	oxk_request_release(endpoint, request);
	oxk_tell(endpoint, request);
	oxk_told(endpoint, peer);
}

/* Copies what has come before its receive. False if there is nothing. */
static bool oxk_copy_kept(struct oxk_endpoint *endpoint)
{
	struct oxk_request *request;
	struct oxk_core_piece piece;
	u64 token;

	spin_lock_bh(&endpoint->lock);
	if (oxk_core_next_copy(endpoint->core, &token)) {
		spin_unlock_bh(&endpoint->lock);
		return false;
	}
	request = *oxk_slot(endpoint, token);
	while (!oxk_core_next_piece(endpoint->core, token, &piece)) {
		spin_unlock_bh(&endpoint->lock);
		/* The core does not touch them before it is told. */
		oxk_area_write(oxk_request_area(request), piece.offset, piece.data, piece.bytes);
		oxk_add(endpoint, bytes_kept, piece.bytes);
		spin_lock_bh(&endpoint->lock);
	}
	oxk_core_copied(endpoint->core, token, 0);
	spin_unlock_bh(&endpoint->lock);
	return true;
}

/* Tells of one request that is over. False if there is none. */
static bool oxk_tell_next(struct oxk_endpoint *endpoint)
{
	struct oxk_core_completion over;
	struct oxk_request *request;
	struct oxk_link *link;
	bool slow;

	spin_lock_bh(&endpoint->lock);
	if (oxk_core_next_completed(endpoint->core, &over)) {
		spin_unlock_bh(&endpoint->lock);
		return false;
	}
	request = (struct oxk_request *)over.user;
	*oxk_slot(endpoint, over.token) = NULL;
	request->status = (struct oxk_status) {
		.error = -(int)over.error,
		.match = over.bits,
		.bytes = over.bytes,
		.placed = over.placed,
		.peer = over.peer,
	};
	/* A message may be received after its sender is lost and forgotten. */
	link = over.peer ? oxk_link_of(endpoint, over.peer) : NULL;
	if (link)
		link->n_calling++;
	if (!over.error) {
		if (request->memory.written)
			oxk_add(endpoint, messages_received, 1);
		else
			oxk_add(endpoint, messages_sent, 1);
	}
	slow = oxk_request_is_slow(request);
	if (slow) {
		list_add_tail(&request->finished, &endpoint->finished);
		queue_work(endpoint->queue, &endpoint->finish);
	}
	spin_unlock_bh(&endpoint->lock);
	if (!slow) {
		oxk_request_release(endpoint, request);
		oxk_tell(endpoint, request);
		oxk_told(endpoint, link ? over.peer : OXK_NO_PEER);
	}
	return true;
}

/* Does what the core has to do after a call: copies, and callbacks. The socket may be locked. */
void oxk_settle(struct oxk_endpoint *endpoint)
{
	struct oxk_endpoint *settling;
	u32 left = OXK_PM_BATCHES_MAX;

	atomic_inc(&endpoint->n_settling);
	local_bh_disable();
	settling = this_cpu_read(oxk_settling);
	if (!settling) {
		this_cpu_write(oxk_settling, endpoint);
		do {
			while (oxk_copy_kept(endpoint) || oxk_tell_next(endpoint))
				;
		} while (oxk_pm_pump(endpoint, &left));
		this_cpu_write(oxk_settling, NULL);
	} else if (settling != endpoint) {
		/* Called by a callback of another one. If it is the same, that goes on with it. */
		queue_work(endpoint->queue, &endpoint->settle);
	}
	local_bh_enable();
	/* The last: a close waits for it. */
	atomic_dec(&endpoint->n_settling);
}

void oxk_settle_work(struct work_struct *work)
{
	oxk_settle(container_of(work, struct oxk_endpoint, settle));
}

/* Requests whose memory cannot be let go in a softirq. */
void oxk_finish_work(struct work_struct *work)
{
	struct oxk_endpoint *endpoint = container_of(work, struct oxk_endpoint, finish);
	struct oxk_request *request;

	for (;;) {
		spin_lock_bh(&endpoint->lock);
		request =
			list_first_entry_or_null(&endpoint->finished, struct oxk_request, finished);
		if (request)
			list_del_init(&request->finished);
		spin_unlock_bh(&endpoint->lock);
		if (!request)
			break;
		oxk_release_and_tell(endpoint, request);
	}
	/* With PM, what peers are due now leaves by this. */
	oxk_settle(endpoint);
}

/* The core has taken it, by this name. The endpoint is locked. */
static void oxk_enter(struct oxk_endpoint *endpoint, struct oxk_request *request, u64 token)
{
	request->token = token;
	request->endpoint = endpoint;
	request->reaps = endpoint->port && endpoint->params.reap_us;
	*oxk_slot(endpoint, token) = request;
}

/* The core has taken a request, or has not. The endpoint is locked, and is not afterwards. */
static int oxk_made(struct oxk_endpoint *endpoint, struct oxk_request *request, u64 token,
		    int error)
{
	struct oxk_link *link = NULL;
	u64 peer;

	if (!error) {
		oxk_enter(endpoint, request, token);
		peer = oxk_core_peer_of(endpoint->core, token);
		if (peer)
			link = oxk_link_of(endpoint, peer);
		if (link)
			oxk_kick(link);
	}
	spin_unlock_bh(&endpoint->lock);
	if (error)
		oxk_request_release(endpoint, request);
	else
		oxk_settle(endpoint);
	return error;
}

static int oxk_begin(struct oxk_endpoint *endpoint, const struct oxk_vector *vector, bool receive,
		     struct oxk_request *request)
{
	request->token = 0;
	request->endpoint = NULL;
	request->reaps = false;
	init_completion(&request->over);
	INIT_LIST_HEAD(&request->finished);
	memset(&request->status, 0, sizeof(request->status));
	return oxk_request_take(endpoint, vector, receive, request);
}

static int oxk_send(struct oxk_endpoint *endpoint, oxk_peer_t peer, u64 match,
		    const struct oxk_vector *vector, struct oxk_request *request, bool sync)
{
	int error = oxk_begin(endpoint, vector, false, request);
	u64 token = 0;

	if (error)
		return error;
	spin_lock_bh(&endpoint->lock);
	error = oxk_core_send(endpoint->core, peer, match, oxk_request_area(request)->bytes, sync,
			      (u64)request, &token);
	return oxk_made(endpoint, request, token, error);
}

int oxk_isend(struct oxk_endpoint *endpoint, oxk_peer_t peer, u64 match,
	      const struct oxk_vector *vector, struct oxk_request *request)
{
	return oxk_send(endpoint, peer, match, vector, request, false);
}
EXPORT_SYMBOL_GPL(oxk_isend);

int oxk_issend(struct oxk_endpoint *endpoint, oxk_peer_t peer, u64 match,
	       const struct oxk_vector *vector, struct oxk_request *request)
{
	return oxk_send(endpoint, peer, match, vector, request, true);
}
EXPORT_SYMBOL_GPL(oxk_issend);

int oxk_irecv(struct oxk_endpoint *endpoint, u64 match, u64 mask, const struct oxk_vector *vector,
	      struct oxk_request *request)
{
	int error = oxk_begin(endpoint, vector, true, request);
	u64 token = 0;

	if (error)
		return error;
	spin_lock_bh(&endpoint->lock);
	error = oxk_core_receive(endpoint->core, match, mask, request->memory.bytes, (u64)request,
				 &token);
	return oxk_made(endpoint, request, token, error);
}
EXPORT_SYMBOL_GPL(oxk_irecv);

/* A message that no receive waits for: asks the handler and tells the core. The endpoint is locked.
 */
int oxk_judge(struct oxk_link *link, const struct oxk_core_step *step, const u8 *data, u32 here)
{
	struct oxk_endpoint *endpoint = link->endpoint;
	struct oxk_arrival arrival = {
		.peer = link->peer,
		.match = step->bits,
		.bytes = step->bytes,
		.offered = step->offered,
		.data = data,
		.here = step->offered ? 0 : min_t(u64, here, step->bytes),
	};
	struct oxk_vector into = {};
	struct oxk_request *request = NULL;
	enum oxk_verdict verdict;
	u64 token = 0;
	int error;

	verdict = endpoint->params.unexpected(&arrival, &request, &into, endpoint->params.context);
	if (verdict == OXK_FINISHED)
		return oxk_core_verdict(endpoint->core, link->peer, OXK_VERDICT_TAKE, 0, 0, &token);
	if (verdict == OXK_INTO && request && into.kind != OXK_USER &&
	    !oxk_begin(endpoint, &into, true, request)) {
		error = oxk_core_verdict(endpoint->core, link->peer, OXK_VERDICT_INTO, (u64)request,
					 request->memory.bytes, &token);
		if (!error) {
			oxk_enter(endpoint, request, token);
			return 0;
		}
		oxk_request_release(endpoint, request);
	}
	return oxk_core_verdict(endpoint->core, link->peer, OXK_VERDICT_LEAVE, 0, 0, &token);
}

/* The endpoint of a request that is not over, which no close frees before oxk_let_go; else NULL. A
 * close ends all requests, and waits for a grace period before it looks whether any is held. */
static struct oxk_endpoint *oxk_hold(struct oxk_request *request)
{
	struct oxk_endpoint *endpoint = NULL;

	rcu_read_lock();
	if (!completion_done(&request->over))
		endpoint = request->endpoint;
	if (endpoint)
		atomic_inc(&endpoint->n_settling);
	rcu_read_unlock();
	return endpoint;
}

static void oxk_let_go(struct oxk_endpoint *endpoint)
{
	atomic_dec(&endpoint->n_settling);
}

/* As oxk_cancel; the memory is let go by the caller. */
static int oxk_take_back(struct oxk_endpoint *endpoint, struct oxk_request *request)
{
	struct oxk_link *link;
	u64 peer;
	int error;

	spin_lock_bh(&endpoint->lock);
	peer = oxk_core_peer_of(endpoint->core, request->token);
	error = oxk_core_cancel(endpoint->core, request->token);
	if (!error)
		*oxk_slot(endpoint, request->token) = NULL;
	link = peer ? oxk_link_of(endpoint, peer) : NULL;
	if (link)
		oxk_kick(link);
	spin_unlock_bh(&endpoint->lock);
	if (endpoint->port)
		oxk_settle(endpoint);
	return error;
}

int oxk_cancel(struct oxk_request *request)
{
	struct oxk_endpoint *endpoint = oxk_hold(request);
	int error;

	if (!endpoint)
		return -ENOENT;
	error = oxk_take_back(endpoint, request);
	if (!error) {
		request->endpoint = NULL;
		oxk_request_release(endpoint, request);
	}
	oxk_let_go(endpoint);
	return error;
}
EXPORT_SYMBOL_GPL(oxk_cancel);

int oxk_test(const struct oxk_request *request)
{
	return completion_done((struct completion *)&request->over) ? 0 : -EAGAIN;
}
EXPORT_SYMBOL_GPL(oxk_test);

/* The peer that keeps a request from ending is lost. */
static void oxk_lose_peer_of(struct oxk_request *request)
{
	struct oxk_endpoint *endpoint = oxk_hold(request);
	u64 peer;

	if (!endpoint)
		return;
	spin_lock_bh(&endpoint->lock);
	peer = oxk_core_peer_of(endpoint->core, request->token);
	spin_unlock_bh(&endpoint->lock);
	if (peer)
		oxk_lose_peer(endpoint, peer, -ETIMEDOUT);
	oxk_let_go(endpoint);
}

int oxk_abandon(struct oxk_request *request)
{
	/* Also when it has ended: its callback may not have been called yet. */
	if (!oxk_cancel(request))
		return 0;
	if (!request->endpoint)
		return -ENOENT;
	if (!wait_for_completion_timeout(&request->over, msecs_to_jiffies(OXK_CANCEL_MS))) {
		oxk_lose_peer_of(request);
		wait_for_completion(&request->over);
	}
	return -ENOENT;
}
EXPORT_SYMBOL_GPL(oxk_abandon);

int oxk_wait(struct oxk_request *request)
{
	struct oxk_endpoint *endpoint = request->reaps ? oxk_hold(request) : NULL;

	if (endpoint) {
		oxk_pm_reap(endpoint, request);
		oxk_let_go(endpoint);
	}
	if (!wait_for_completion_killable(&request->over))
		return 0;
	oxk_abandon(request);
	return -EINTR;
}
EXPORT_SYMBOL_GPL(oxk_wait);

int oxk_probe(struct oxk_endpoint *endpoint, u64 match, u64 mask, struct oxk_status *status)
{
	struct oxk_core_completion found;
	int error;

	spin_lock_bh(&endpoint->lock);
	error = oxk_core_probe(endpoint->core, match, mask, &found);
	spin_unlock_bh(&endpoint->lock);
	if (error)
		return error;
	*status = (struct oxk_status) { .match = found.bits,
					.bytes = found.bytes,
					.peer = found.peer };
	return 0;
}
EXPORT_SYMBOL_GPL(oxk_probe);
