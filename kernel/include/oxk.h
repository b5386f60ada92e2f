/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0
 *
 * oxk.h: endpoints by which kernel code sends and receives messages. docs/oxk.md explains each call
 * and says what exists so far.
 *
 * Contexts, beside each call:
 *   process   may sleep; no spinlock held, not in an interrupt
 *   any       process, softirq, or with spinlocks held (not in hard interrupts or NMI)
 * Calls return 0 or a negative errno. Requests and their memory belong to the endpoint from a call
 * that returns 0 until `done` is called or oxk_cancel returns 0.
 */
#ifndef OXK_H
#define OXK_H

#include <linux/bvec.h>
#include <linux/completion.h>
#include <linux/list.h>
#include <linux/socket.h>
#include <linux/types.h>
#include <linux/uio.h>

struct key;
struct net;
struct oxk_endpoint;
struct oxk_block;

#define OXK_REQUESTS_MAX (1u << 20)
#define OXK_PEERS_MAX (1u << 16)
#define OXK_PM_PEERS_MAX 256u /* with OXK_PM */
#define OXK_REAP_US_MAX 1000000u
#define OXK_WINDOW_BYTES_MIN 1024u /* of unexpected_bytes, for each peer */
#define OXK_UNEXPECTED_BYTES_MAX (1ull << 30)
#define OXK_EAGER_BYTES_MAX (1u << 20)
#define OXK_PIECES 16u
#define OXK_PIECES_MAX (1u << 22)
#define OXK_BOUNCE_BYTES_MAX (1u << 30)
#define OXK_KEY_BYTES 16u     /* of the key's payload */
#define OXK_MASK_FULL (~0ull) /* the bits are equal */
#define OXK_MASK_ANY 0ull     /* any message */
#define OXK_NO_PEER 0ull
#define OXK_CANCEL_MS 5000u

/* A peer of an endpoint. Names are not used again: a stale one is answered ENOTCONN. */
typedef u64 oxk_peer_t;

/* ---- memory: one kind for each vector
 * -------------------------------------------------------------------------------- */

enum oxk_memory {
	OXK_KERNEL, /* kernel virtual addresses: kmalloc, vmalloc, module data; not the stack */
	OXK_USER,   /* of the calling process; pinned until the request is over */
	OXK_PAGES,  /* pages or folios; the caller keeps its references until the request is over */
};

/* oxk_vector.flags */
#define OXK_BOUNCE 1u /* through a registered buffer, copied on this side: the baseline */

struct oxk_vector {
	enum oxk_memory kind;
	u32 n; /* entries */
	u32 flags;
	union {
		const struct kvec *kernel;
		const struct iovec __user *user;
		const struct bio_vec *pages;
	};
};

/* ---- requests
 * --------------------------------------------------------------------------------------------------------
 */

struct oxk_status {
	int error;	 /* 0 or a negative errno, see docs/oxk.md */
	u64 match;	 /* the message's bits */
	u64 bytes;	 /* the message's length */
	u64 placed;	 /* bytes in the receive's memory */
	oxk_peer_t peer; /* sender or receiver; OXK_NO_PEER: a receive that met no message */
};

/* private: where the bytes of a request are */
struct oxk_area {
	struct oxk_block *first;
	struct oxk_block *at; /* where the last piece was found */
	u64 at_offset;
	u64 bytes;
	u32 n;	      /* pieces */
	u32 pinned;   /* pages */
	bool written; /* they are dirty */
};

/* Embedded by the caller. `done` and `context` are set before the request is made; the rest is the
 * endpoint's. */
struct oxk_request {
	/* Called once, in softirq or process context, with no lock of the endpoint held; may make
	 * requests, may free the one that it is for, may not sleep. NULL: nobody is told; oxk_wait
	 * or oxk_test is used. */
	void (*done)(struct oxk_request *request);
	void *context;
	struct oxk_status status; /* valid once it is over */

	/* private */
	u64 token;
	struct oxk_endpoint *endpoint;
	struct completion over;
	struct list_head finished;
	struct oxk_area memory;
	struct oxk_area bounce;
	bool reaps; /* oxk_wait runs the card's receive */
};

/* ---- endpoints
 * -------------------------------------------------------------------------------------------------------
 */

/* What the unexpected handler answers. */
enum oxk_verdict {
	OXK_CONTINUE, /* the message waits for a receive */
	OXK_FINISHED, /* it is over: the handler has seen what it wants, and its bytes are thrown
			 away */
	OXK_INTO,     /* it goes into *into, as the request *request of the handler's */
};

/* A message that no receive waits for. */
struct oxk_arrival {
	oxk_peer_t peer;
	u64 match;
	u64 bytes;    /* its length */
	bool offered; /* its bytes wait at the sender: `here` is 0, and OXK_FINISHED spares them the
			 way */
	const void *data; /* its first bytes, as far as they lie in one piece where they arrived */
	u32 here;	  /* how many */
};

/* What carries messages between endpoints; the same on both sides. */
enum oxk_carrier {
	OXK_TCP,
	/* The PM protocol in Ethernet frames of `ifindex`. The TCP connection by which peers prove
	 * themselves stays and carries nothing more; its end is the peer's. */
	OXK_PM,
};

struct oxk_params {
	struct net *net;	       /* a reference is held until close */
	const struct sockaddr *listen; /* NULL: nobody connects to this endpoint */
	int listen_bytes;
	struct key *key; /* of type "user": the key by which peers prove themselves; a reference is
			    held */
	u32 requests;	 /* sends and receives under way at once */
	u32 peers;	 /* peers at once */
	u32 eager_bytes; /* longest message that is sent without asking */
	u64 unexpected_bytes; /* for messages that no receive waits for, shared out evenly among the
				 peers */
	u32 pieces; /* pieces of memory of all requests together; 0: OXK_PIECES for each request */
	u32 bounce_bytes; /* registered memory for OXK_BOUNCE; 0: none */
	enum oxk_carrier carrier;
	int ifindex; /* OXK_PM: an Ethernet card of `net`, or its loopback */
	u32 reap_us; /* OXK_PM: for so long oxk_wait runs the card's receive itself before it sleeps */

	/* In softirq, under the endpoint's lock: may not sleep and may call no function of oxk.
	 * NULL: OXK_CONTINUE. */
	enum oxk_verdict (*unexpected)(const struct oxk_arrival *arrival,
				       struct oxk_request **request, struct oxk_vector *into,
				       void *context);
	/* Once for each peer that was connected or accepted, after all its requests are over;
	 * process context, no lock held. */
	void (*peer_lost)(struct oxk_endpoint *endpoint, oxk_peer_t peer, int error, void *context);
	void *context;
};

/* Opens an endpoint; everything it will ever need is allocated here. process.
 * ENODEV no such card, or none that has Ethernet frames; EINVAL bounds out of range; EKEYREJECTED no usable key; EADDRINUSE, EADDRNOTAVAIL, EACCES of the
 * listening socket; ENOMEM; EINTR the caller is being killed. */
int oxk_open(const struct oxk_params *params, struct oxk_endpoint **endpoint);

/* Ends all requests (receives that wait: ECANCELED; others: ESHUTDOWN), waits until no callback
 * runs and no memory is in use, and frees the endpoint. process; not from a callback. */
void oxk_close(struct oxk_endpoint *endpoint);

/* Begins to connect; sends may be made at once. If it fails, they and peer_lost tell. process.
 * EAGAIN as many peers as the endpoint has room for; EINVAL no address; ESHUTDOWN the endpoint
 * closes. */
int oxk_connect(struct oxk_endpoint *endpoint, const struct sockaddr *address, int bytes,
		oxk_peer_t *peer);

/* Sends a message: over when its memory is no longer needed, which may be before it is received.
 * any for OXK_PAGES and OXK_KERNEL, process for OXK_USER. ENOTCONN no such peer, or lost; EAGAIN
 * all requests or pieces are in use; E2BIG more pieces than the endpoint has in all; EMSGSIZE
 * longer than a message can be; EFAULT memory that cannot be pinned or is none; EINVAL an unknown
 * kind or flag; ESHUTDOWN. */
int oxk_isend(struct oxk_endpoint *endpoint, oxk_peer_t peer, u64 match,
	      const struct oxk_vector *vector, struct oxk_request *request);

/* The same, over only when the message has met a receive. */
int oxk_issend(struct oxk_endpoint *endpoint, oxk_peer_t peer, u64 match,
	       const struct oxk_vector *vector, struct oxk_request *request);

/* Receives the oldest message, of whatever peer, whose bits are those of `match` wherever `mask`
 * is 1. Contexts and errors as oxk_isend, without ENOTCONN and EMSGSIZE. */
int oxk_irecv(struct oxk_endpoint *endpoint, u64 match, u64 mask, const struct oxk_vector *vector,
	      struct oxk_request *request);

/* Takes a request back. any. 0: its memory is the caller's, and `done` is not called. EAGAIN: its
 * message is arriving or leaving; it will be over by itself (a send that is only offered: with
 * ECANCELED, unless the peer's receive came first). ENOENT: it is over. */
int oxk_cancel(struct oxk_request *request);

/* 0 if it is over, else EAGAIN. any. */
int oxk_test(const struct oxk_request *request);

/* Waits until it is over. process. EINTR: the caller is being killed, and the request was taken
 * back or has ended: its memory is the caller's either way. A peer that does not answer within
 * OXK_CANCEL_MS while a killed caller waits for it is lost. */
int oxk_wait(struct oxk_request *request);

/* Takes a request back, or waits until it is over; a peer that keeps it from ending for
 * OXK_CANCEL_MS is lost. process. Its memory is the caller's either way. 0: it was taken back, and
 * `done` is not called. ENOENT: it is over; `done` has been called, or is being called. */
int oxk_abandon(struct oxk_request *request);

/* With OXK_PM: runs the receive of the card's driver until `over` says so, `reap_us` have passed or a
 * signal comes; returns at once before frames have come by a queue of the card's driver. process; the
 * endpoint is not being closed. */
void oxk_reap(struct oxk_endpoint *endpoint, bool (*over)(void *of), void *of);

/* The message that a receive would get at once; it stays. any. ENOENT: there is none. */
int oxk_probe(struct oxk_endpoint *endpoint, u64 match, u64 mask, struct oxk_status *status);

/* What an endpoint has done since it was opened. Bytes are those of messages, without heads. */
struct oxk_counts {
	u64 messages_sent;
	u64 messages_received;
	u64 bytes_lent;	      /* sent from the caller's pages, which TCP had references to */
	u64 bytes_copied;     /* sent by a copy: slab memory and short messages */
	u64 bytes_placed;     /* copied from where they arrived to the receive's memory */
	u64 bytes_kept;	      /* of unexpected messages, copied out of the endpoint's own memory */
	u64 bytes_bounced;    /* copied between a vector and registered memory */
	u64 pages_pinned;     /* now */
	u64 pages_pinned_all; /* since */
	u64 wakeups;	      /* threads in oxk_wait that were woken */
	u64 softirq_runs;     /* of the reader */
	u64 thread_runs;
	u64 strangers; /* connections that did not prove themselves */
	/* OXK_PM */
	u64 frames_sent; /* repeats among them */
	u64 frames_repeated;
	u64 frames_received;
	u64 frames_refused; /* of our channel, but no peer's: forged, repeated, or too late */
	u64 reaps;	    /* waits in which the waiter ran the card's receive */
	u64 reaps_over;	    /* and after which nothing was left to wait for */
};

/* any. */
void oxk_count(struct oxk_endpoint *endpoint, struct oxk_counts *counts);

#endif
