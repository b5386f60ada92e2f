/* SPDX-License-Identifier: GPL-2.0
 *
 * stream.h: what the files of oxk_stream.ko tell each other. device.c has the device and its
 * requests, user.c what a user may have, port.c endpoints and how streams begin and end, flow.c the
 * bytes.
 *
 * A *port* is an endpoint: that of a listener, which many streams share, or that of one stream
 * which connected. A stream has a number of 48 random bits that its two ends know. Messages
 * between ports, by the upper 16 bits of their match; the rest is the number:
 *
 *   HELLO    a stream begins            WELCOME, REFUSED   the answer
 *   DATA     a piece of it              FIN                no more comes from this side
 *   GONE     nobody reads any more
 *
 * All but DATA are empty, and taken by the handler of unexpected messages. DATA is at most a piece
 * long. It waits at its sender or in the endpoint until it is read.
 *
 * Locks, in the order in which they are taken: a stream's `reading` or `writing`, then, alone,
 * oxks_port.lock. The lock of user.c is taken under neither. The handler is called under the
 * endpoint's lock, so nothing of oxk is called under oxks_port.lock.
 */
#ifndef OXKS_STREAM_H
#define OXKS_STREAM_H

#include <linux/atomic.h>
#include <linux/bvec.h>
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "../../include/oxk.h"
#include "../../include/oxk_stream.h"

#define OXKS_PIECE_PAGES (OXKS_PIECE_BYTES / PAGE_SIZE)
/* Of the caller's pages a piece may touch one more. */
#define OXKS_PINS_MAX (OXKS_PIECE_PAGES + 1)
#define OXKS_ID_MASK ((1ull << 48) - 1)

enum oxks_kind {
	OXKS_HELLO = 1,
	OXKS_WELCOME,
	OXKS_REFUSED,
	OXKS_DATA,
	OXKS_FIN,
	OXKS_GONE,
};

/* A message under way and the memory that it lies in. */
struct oxks_op {
	struct oxk_request request;
	struct oxks_stream *stream;
	bool over; /* under the port's lock */
	u32 n_pins;
	struct page *pins[OXKS_PINS_MAX];
	u32 n_pieces;
	struct bio_vec pieces[OXKS_PINS_MAX + OXKS_PIECE_PAGES];
};

struct oxks_port {
	refcount_t references; /* the listener, each stream, the work item */
	struct oxk_endpoint *endpoint;
	struct oxks_user *user;
	bool unbounded; /* made by who may have more than users may */
	bool listens;
	u32 backlog;

	spinlock_t lock; /* bottom halves off */
	struct list_head streams;
	u32 n_streams;
	struct list_head ready; /* to be accepted */
	u32 n_ready;
	bool closed; /* nobody accepts any more */
	/* Those that said hello, until the work item has answered. */
	u32 n_callers;
	struct {
		oxk_peer_t peer;
		u64 id;
	} callers[OXKS_BACKLOG_MAX];
	u32 n_words; /* messages without bytes that have not left */
	u8 words[OXKS_STREAMS_MAX]; /* the same for each peer, by its place */
	struct work_struct answer;
	wait_queue_head_t wait;
};

struct oxks_stream {
	struct oxks_port *port;
	oxk_peer_t peer;
	u64 id;
	struct list_head list;	/* of the port's */
	struct list_head ready; /* while it waits to be accepted */
	wait_queue_head_t wait;

	/* Under the port's lock. */
	bool welcome;
	bool fin;  /* the peer writes no more */
	bool gone; /* the peer reads no more */
	int error; /* the peer is lost, or refused */

	struct mutex reading;
	struct oxks_op *in;
	struct page *rest[OXKS_PIECE_PAGES]; /* what was longer than a read */
	u32 rest_at;
	u32 rest_bytes;

	struct mutex writing;
	struct oxks_op *out;
	bool shut; /* this side writes no more */
	struct oxks_op *behind; /* what a write that does not wait has left */
	struct page *copies[OXKS_PIECE_PAGES];

	atomic64_t reads, writes, bytes_read, bytes_written, bytes_copied, pages_pinned, wakeups;
};

/* device.c */
extern atomic64_t oxks_streams_all;
extern atomic64_t oxks_ports_all;
extern struct workqueue_struct *oxks_queue;
extern const struct file_operations oxks_operations;

/* What an open file is; set once. */
struct oxks_file {
	struct mutex lock;
	struct oxks_port *port;	    /* it listens */
	struct oxks_stream *stream; /* it is a stream */
};

/* user.c */
int oxks_user_get(struct oxks_port *port);
void oxks_user_put(struct oxks_port *port);
int oxks_user_add_stream(struct oxks_port *port);
void oxks_user_remove_stream(struct oxks_port *port);

/* port.c */
int oxks_listen(const struct oxks_address *address, struct oxks_port **port);
int oxks_connect(const struct oxks_address *address, struct oxks_stream **stream);
int oxks_accept(struct oxks_port *port, bool wait, struct oxks_stream **stream);
bool oxks_has_ready(struct oxks_port *port);
void oxks_port_close(struct oxks_port *port);
void oxks_stream_close(struct oxks_stream *stream);
int oxks_say(struct oxks_port *port, oxk_peer_t peer, u64 id, enum oxks_kind kind);

static inline u64 oxks_match(enum oxks_kind kind, u64 id)
{
	return (u64)kind << 48 | id;
}

/* flow.c */
struct oxks_op *oxks_op_new(struct oxks_stream *stream);
void oxks_op_end(struct oxks_op *op);
ssize_t oxks_read(struct oxks_stream *stream, char __user *to, size_t bytes, bool wait);
ssize_t oxks_write(struct oxks_stream *stream, const char __user *from, size_t bytes, bool wait);
int oxks_shutdown(struct oxks_stream *stream);
__poll_t oxks_state(struct oxks_stream *stream);
void oxks_flush(struct oxks_stream *stream);
void oxks_discard(struct oxks_stream *stream);

#endif
