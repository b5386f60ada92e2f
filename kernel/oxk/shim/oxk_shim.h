/* SPDX-License-Identifier: GPL-2.0
 *
 * oxk_shim.h: what the files of the shim tell each other. endpoint.c opens and closes, connect.c
 * has the listener, dialling and handshakes, link.c the life of a connection, sender.c and reader.c
 * what leaves and arrives by TCP, pm.c by PM, request.c the calls, area.c the memory of requests.
 * Decisions are made in the core (core.h).
 *
 * Locks, in the order in which they are taken: a socket's lock, oxk_endpoint.lock,
 * oxk_endpoint.pool_lock. Callbacks of the caller but `unexpected` are called with none of the last
 * two held.
 */
#ifndef OXK_SHIM_H
#define OXK_SHIM_H

#include <linux/atomic.h>
#include <linux/if_ether.h>
#include <linux/llist.h>
#include <linux/net.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <net/sock.h>

#include "../../include/oxk.h"
#include "../../runtime/reader.h"
#include "core.h"

/* Connections of an endpoint that have not proved themselves; more wait in the listener's queue. */
#define OXK_STRANGERS_MAX 32
#define OXK_HANDSHAKE_MS 10000
/* How long an accept or a send for which there was no memory waits before it is tried again. */
#define OXK_MEMORY_PAUSE_MS 20
/* Payloads of a peer that TCP has references to. With 128 KiB each, 4 MiB: as much as TCP queues.
 */
#define OXK_FLIGHTS_MAX 32
/* A shorter payload is copied: that takes less than references to its pages. */
#define OXK_LENT_BYTES_MIN 512
/* What one run of the reader copies in a softirq; a work item does the rest. */
#define OXK_SOFTIRQ_BYTES_MAX (256u << 10)
/* What one run of the work item reads before others have the socket. */
#define OXK_THREAD_BYTES_MAX (4u << 20)
/* Frames that are made before some are handed to the card, and how often one call of oxk_settle
 * hands some over: four windows. */
#define OXK_PM_BATCH 16u
#define OXK_PM_BATCHES_MAX (4u * 64u / OXK_PM_BATCH)
/* How long a close waits for what was sent to be acknowledged. */
#define OXK_GOODBYE_MS 1000
/* A silent peer is asked after this many seconds, and is lost when it has not answered so often. */
#define OXK_SILENCE_SECONDS 20
#define OXK_SILENCE_PROBES 3
/* Pieces in one block of the pool: with its link, a block is 256 bytes. */
#define OXK_BLOCK_PIECES 15u

/* Pieces of memory, in order. */
struct oxk_block {
	struct oxk_block *next;
	u64 bytes; /* of all its pieces */
	struct bio_vec pieces[OXK_BLOCK_PIECES];
};

/* A payload whose pages TCP refers to. */
struct oxk_flight {
	struct ubuf_info pages;
	struct list_head list; /* of the free ones */
	struct oxk_link *link;
	u64 token;
};

/* A connection with a peer: dialled or accepted, until it is lost. */
struct oxk_link {
	struct oxk_endpoint *endpoint;

	/* Under the endpoint's lock. */
	u64 peer;      /* its name; OXK_NO_PEER: the place is vacant */
	bool lost;     /* the core knows; `end` is queued */
	int error;     /* why */
	bool starved;  /* the sender waits for a flight */
	bool admitting; /* the work of the stranger that it was has its socket, too */
	u32 n_calling; /* callbacks of requests with this peer */
	u32 n_flying;
	struct list_head flights; /* free */
	struct oxk_flight flight[OXK_FLIGHTS_MAX];

	struct socket *socket; /* set once it is made, under `dialling` */
	struct mutex dialling;
	struct sockaddr_storage address;
	int address_bytes;
	wait_queue_head_t idle;
	struct work_struct dial;
	struct work_struct send;
	struct work_struct read;
	struct work_struct end;

	/* Of the sender. */
	bool is_sending; /* `transmit` is not all written */
	struct oxk_core_transmit transmit;
	u64 written;		   /* of head and payload */
	struct oxk_flight *flying; /* its payload */

	/* Of the reader, under the socket's lock. */
	bool hooked;
	bool in_thread; /* the work item has it or will have it */
	void (*data_ready)(struct sock *sk);
	void (*state_change)(struct sock *sk);
	void (*error_report)(struct sock *sk);
	void (*write_space)(struct sock *sk);
	bool stopped; /* until the sender has nothing to say; under the endpoint's lock */

	/* With PM, under the endpoint's lock. */
	u8 mac[ETH_ALEN];
	struct list_head wanted; /* of the port's */
	bool pumping;		 /* somebody hands its frames to the card */
	bool pump_again;
	u32 on_link;	/* flights that the peer has not acknowledged, by bit */
	u32 held_bytes; /* while `stopped` */
};

/* Somebody who has connected and proves himself. */
struct oxk_stranger {
	struct oxk_endpoint *endpoint;
	bool busy;	       /* this and the next under strangers_lock */
	struct socket *socket; /* while he proves himself */
	struct work_struct work;
	struct oxk_handshake handshake;
};

struct oxk_endpoint {
	struct oxk_params params; /* listen and key are not kept */
	struct net *net;
	u8 key[OXK_KEY_BYTES];
	struct workqueue_struct *queue; /* of what moves bytes */
	struct workqueue_struct *slow;	/* of what waits: dialling, ends */
	struct workqueue_struct *strange; /* of those that connect, until they are proven */

	spinlock_t
		lock; /* bottom halves off; guards the core, `requests`, and what is said above */
	struct oxk_core *core;
	struct oxk_request **requests; /* by the core's number */
	struct oxk_link *links;	       /* by the core's number */
	bool closing;
	u32 n_links;
	wait_queue_head_t idle; /* until there is none */

	spinlock_t pool_lock;
	struct oxk_block *blocks; /* all of them */
	struct oxk_block *free_blocks;
	u32 n_free_blocks;
	u32 n_blocks;
	struct page **bounce; /* free ones */
	u32 n_free_bounce;
	u32 n_bounce;

	struct list_head
		finished; /* requests whose memory is let go by a work item; under `lock` */
	struct work_struct finish;
	struct work_struct settle;
	atomic_t n_settling; /* and calls about requests (oxk_hold) */

	struct oxk_port *port; /* of PM; NULL: TCP carries */

	struct socket *listener;
	struct work_struct accept;
	void (*data_ready)(struct sock *sk); /* the listener's own */
	struct mutex strangers_lock;
	struct oxk_stranger strangers[OXK_STRANGERS_MAX];

	atomic64_t counts[sizeof(struct oxk_counts) / sizeof(u64)];
};

#define oxk_add(endpoint, name, n) \
	atomic64_add(n, &(endpoint)->counts[offsetof(struct oxk_counts, name) / sizeof(u64)])

/* A request of the endpoint, by the core's name for it. */
static inline struct oxk_request **oxk_slot(struct oxk_endpoint *endpoint, u64 token)
{
	return &endpoint->requests[(u32)token];
}

/* The place of a peer, if it is still that one. The endpoint is locked. */
static inline struct oxk_link *oxk_link_of(struct oxk_endpoint *endpoint, u64 peer)
{
	struct oxk_link *link = &endpoint->links[(u32)peer];

	return (u32)peer < endpoint->params.peers && link->peer == peer ? link : NULL;
}

extern atomic64_t oxk_endpoints_all;
extern atomic64_t oxk_pages_pinned_all;

/* area.c */
int oxk_pool_new(struct oxk_endpoint *endpoint);
void oxk_pool_free(struct oxk_endpoint *endpoint);
int oxk_request_take(struct oxk_endpoint *endpoint, const struct oxk_vector *vector, bool receive,
		     struct oxk_request *request);
void oxk_request_release(struct oxk_endpoint *endpoint, struct oxk_request *request);
void oxk_request_unbounce(struct oxk_endpoint *endpoint, struct oxk_request *request);
bool oxk_request_is_slow(const struct oxk_request *request);
struct oxk_area *oxk_request_area(struct oxk_request *request);
struct bio_vec oxk_area_piece(struct oxk_area *area, u64 offset, u64 bytes);
void oxk_area_write(struct oxk_area *area, u64 offset, const u8 *data, u64 bytes);

/* request.c */
void oxk_settle(struct oxk_endpoint *endpoint);
void oxk_settle_work(struct work_struct *work);
void oxk_finish_work(struct work_struct *work);
int oxk_judge(struct oxk_link *link, const struct oxk_core_step *step, const u8 *data, u32 here);

/* sender.c */
void oxk_send_work(struct work_struct *work);
void oxk_kick(struct oxk_link *link);
void oxk_flights_init(struct oxk_link *link);
struct oxk_flight *oxk_flight_new(struct oxk_link *link);
void oxk_send_abandon(struct oxk_link *link);

/* reader.c */
void oxk_read_work(struct work_struct *work);
void oxk_read_again(struct oxk_link *link);
void oxk_hook(struct oxk_link *link);
void oxk_unhook(struct oxk_link *link);

/* pm.c */
int oxk_pm_open(struct oxk_endpoint *endpoint);
void oxk_pm_close(struct oxk_endpoint *endpoint);
int oxk_pm_greet(struct oxk_link *link, struct socket *socket, bool dialled);
bool oxk_pm_is_done(struct oxk_link *link);
void oxk_pm_stop(struct oxk_link *link);
void oxk_pm_want(struct oxk_link *link);
bool oxk_pm_pump(struct oxk_endpoint *endpoint, u32 *left);
void oxk_pm_reap(struct oxk_endpoint *endpoint, struct oxk_request *request);

/* link.c */
void oxk_link_init(struct oxk_endpoint *endpoint, struct oxk_link *link);
void oxk_lose(struct oxk_link *link, int error);
void oxk_lose_locked(struct oxk_link *link, int error);
void oxk_lose_peer(struct oxk_endpoint *endpoint, u64 peer, int error);
void oxk_end_work(struct work_struct *work);
int oxk_link_begin(struct oxk_endpoint *endpoint, const struct sockaddr *address, int bytes,
		   struct oxk_link **link, u64 *peer);
int oxk_link_up(struct oxk_link *link);

/* connect.c */
int oxk_send_all(struct socket *socket, const u8 *data, u32 bytes);
bool oxk_is_address(const struct sockaddr *address, int bytes);
void oxk_dial_work(struct work_struct *work);
void oxk_dial_stop(struct oxk_link *link);
int oxk_listen(struct oxk_endpoint *endpoint, const struct sockaddr *address, int bytes);
void oxk_listen_stop(struct oxk_endpoint *endpoint);
void oxk_strangers_init(struct oxk_endpoint *endpoint);

#endif
