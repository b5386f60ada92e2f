// SPDX-License-Identifier: GPL-2.0
/*
 * endpoint.c: an endpoint is opened with everything it will ever need, and closed when nothing of
 * it is in use any more.
 */
#include <linux/key.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <keys/user-type.h>
#include <net/net_namespace.h>

#include "../../runtime/memory.h"
#include "oxk_shim.h"

atomic64_t oxk_endpoints_all;
atomic64_t oxk_pages_pinned_all;

/* The bytes of a key of the keyring. */
static int oxk_read_key(struct key *key, u8 *into)
{
	const struct user_key_payload *payload;
	int error = -EKEYREJECTED;

	if (!key || key->type != &key_type_user || key_validate(key))
		return -EKEYREJECTED;
	down_read(&key->sem);
	payload = user_key_payload_locked(key);
	if (payload && payload->datalen == OXK_KEY_BYTES) {
		memcpy(into, payload->data, OXK_KEY_BYTES);
		error = 0;
	}
	up_read(&key->sem);
	return error;
}

/* Frees what there is; nothing is in use. */
static void oxk_free(struct oxk_endpoint *endpoint)
{
	if (endpoint->slow)
		destroy_workqueue(endpoint->slow);
	if (endpoint->strange)
		destroy_workqueue(endpoint->strange);
	if (endpoint->queue)
		destroy_workqueue(endpoint->queue);
	oxk_pm_close(endpoint);
	if (endpoint->core)
		oxk_core_free(endpoint->core);
	oxk_pool_free(endpoint);
	kvfree(endpoint->links);
	kvfree(endpoint->requests);
	put_net(endpoint->net);
	memzero_explicit(endpoint->key, sizeof(endpoint->key));
	kvfree(endpoint);
	atomic64_dec(&oxk_endpoints_all);
	module_put(THIS_MODULE);
}

static int oxk_make_core(struct oxk_endpoint *endpoint)
{
	const struct oxk_params *params = &endpoint->params;
	struct oxk_core_bounds bounds = {
		.requests = params->requests,
		.peers = params->peers,
		.eager_bytes = params->eager_bytes,
		.handler = !!params->unexpected,
		.unexpected_bytes = params->unexpected_bytes,
	};
	u64 bytes = oxk_core_bytes(&bounds), secret[2];

	if (!bytes || params->pieces > OXK_PIECES_MAX ||
	    params->bounce_bytes > OXK_BOUNCE_BYTES_MAX)
		return -EINVAL;
	if (!ox_shim_has_memory(bytes))
		return -ENOMEM;
	get_random_bytes(secret, sizeof(secret));
	endpoint->core = oxk_core_new(&bounds, secret);
	memzero_explicit(secret, sizeof(secret));
	return endpoint->core ? 0 : -EINVAL;
}

static int oxk_make_tables(struct oxk_endpoint *endpoint)
{
	u32 i;

	endpoint->requests = kvcalloc(endpoint->params.requests, sizeof(*endpoint->requests),
				      GFP_KERNEL_ACCOUNT);
	endpoint->links =
		kvcalloc(endpoint->params.peers, sizeof(*endpoint->links), GFP_KERNEL_ACCOUNT);
	if (!endpoint->requests || !endpoint->links)
		return -ENOMEM;
	for (i = 0; i < endpoint->params.peers; i++)
		oxk_link_init(endpoint, &endpoint->links[i]);
	endpoint->queue = alloc_workqueue("oxk", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	endpoint->slow = alloc_workqueue("oxk_slow", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	/* Without WQ_MEM_RECLAIM: when threads are slow to come, the rescuer of such a queue does all
	 * that waits in it one after the other, and each stranger may take OXK_HANDSHAKE_MS. */
	endpoint->strange = alloc_workqueue("oxk_strange", WQ_UNBOUND, 0);
	if (!endpoint->queue || !endpoint->slow || !endpoint->strange)
		return -ENOMEM;
	return oxk_pool_new(endpoint);
}

int oxk_open(const struct oxk_params *params, struct oxk_endpoint **opened)
{
	struct oxk_endpoint *endpoint;
	int error;

	if (params->listen && !oxk_is_address(params->listen, params->listen_bytes))
		return -EINVAL;
	if (params->carrier > OXK_PM)
		return -EINVAL;
	endpoint = kvzalloc(sizeof(*endpoint), GFP_KERNEL_ACCOUNT);
	if (!endpoint)
		return -ENOMEM;
	__module_get(THIS_MODULE);
	atomic64_inc(&oxk_endpoints_all);
	endpoint->params = *params;
	endpoint->params.listen = NULL;
	endpoint->params.key = NULL;
	endpoint->net = get_net(params->net);
	spin_lock_init(&endpoint->lock);
	spin_lock_init(&endpoint->pool_lock);
	init_waitqueue_head(&endpoint->idle);
	INIT_LIST_HEAD(&endpoint->finished);
	INIT_WORK(&endpoint->finish, oxk_finish_work);
	INIT_WORK(&endpoint->settle, oxk_settle_work);
	oxk_strangers_init(endpoint);
	error = oxk_make_core(endpoint);
	if (!error)
		error = oxk_read_key(params->key, endpoint->key);
	if (!error)
		error = oxk_make_tables(endpoint);
	if (!error && params->carrier == OXK_PM)
		error = oxk_pm_open(endpoint);
	/* Before anybody can connect: a callback may come before this returns. */
	*opened = endpoint;
	if (!error && params->listen)
		error = oxk_listen(endpoint, params->listen, params->listen_bytes);
	/* Work queues have threads, which a process that is being killed does not get. */
	if (error == -ENOMEM && fatal_signal_pending(current))
		error = -EINTR;
	if (error) {
		WRITE_ONCE(endpoint->closing, true);
		oxk_listen_stop(endpoint);
		oxk_free(endpoint);
		*opened = NULL;
		return error;
	}
	return 0;
}
EXPORT_SYMBOL_GPL(oxk_open);

static bool oxk_is_idle(struct oxk_endpoint *endpoint)
{
	bool is;

	spin_lock_bh(&endpoint->lock);
	is = !endpoint->n_links;
	spin_unlock_bh(&endpoint->lock);
	return is;
}

static void oxk_wait_settled(struct oxk_endpoint *endpoint)
{
	flush_work(&endpoint->settle);
	while (atomic_read(&endpoint->n_settling))
		schedule_timeout_uninterruptible(1);
}

void oxk_close(struct oxk_endpoint *endpoint)
{
	struct oxk_link *link;
	u32 i;

	WRITE_ONCE(endpoint->closing, true);
	oxk_listen_stop(endpoint);
	spin_lock_bh(&endpoint->lock);
	oxk_core_close(endpoint->core);
	for (i = 0; i < endpoint->params.peers; i++) {
		link = &endpoint->links[i];
		if (link->peer == OXK_NO_PEER || link->lost)
			continue;
		WRITE_ONCE(link->lost, true);
		link->error = -ESHUTDOWN;
		queue_work(endpoint->slow, &link->end);
	}
	spin_unlock_bh(&endpoint->lock);
	oxk_settle(endpoint);
	wait_event(endpoint->idle, oxk_is_idle(endpoint));
	oxk_settle(endpoint);
	/* Callbacks that run elsewhere, and memory that is let go there. */
	oxk_wait_settled(endpoint);
	flush_work(&endpoint->finish);
	/* Every request is over. A call about one that did not know it yet holds the endpoint. */
	synchronize_rcu();
	oxk_wait_settled(endpoint);
	oxk_free(endpoint);
}
EXPORT_SYMBOL_GPL(oxk_close);

void oxk_count(struct oxk_endpoint *endpoint, struct oxk_counts *counts)
{
	u64 *into = (u64 *)counts;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(endpoint->counts); i++)
		into[i] = atomic64_read(&endpoint->counts[i]);
}
EXPORT_SYMBOL_GPL(oxk_count);

static int __init oxk_init(void)
{
	return 0;
}

static void __exit oxk_exit(void)
{
	pr_info("oxk: left behind: %lld pages pinned, %lld endpoints\n",
		atomic64_read(&oxk_pages_pinned_all), atomic64_read(&oxk_endpoints_all));
}

module_init(oxk_init);
module_exit(oxk_exit);
MODULE_LICENSE("GPL");
MODULE_AUTHOR("The OxMPI developers");
MODULE_DESCRIPTION("Messages between kernels: endpoints for kernel code");
