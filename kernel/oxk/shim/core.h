/* SPDX-License-Identifier: GPL-2.0
 *
 * core.h: what the shim asks of the Rust core (kernel/oxk/module/src). The core decides, the shim
 * does: nothing here calls back into the shim except for what kernel/runtime has. Every call on a
 * core is made under its endpoint's lock unless it says otherwise, and takes no other. After each:
 * next_copy, next_completed and, in the peers' work items, poll_send.
 */
#ifndef OXK_CORE_H
#define OXK_CORE_H

#include <linux/types.h>

struct oxk_core;

struct oxk_core_bounds {
	__u32 requests;
	__u32 peers;
	__u32 eager_bytes;
	__u32 handler; /* unexpected messages are shown to a handler first */
	__u64 unexpected_bytes;
};

/* What is to be done with bytes of a peer. */
#define OXK_STEP_DONE 0 /* all of them have been used */
#define OXK_STEP_PLACE                                                                           \
	1 /* copy `bytes` bytes from `consumed` on to `offset` of the memory of request `token`, \
	     then placed */
#define OXK_STEP_UNEXPECTED                                                                        \
	2 /* a message of `bits` and `bytes`: ask the handler, then verdict. Its payload begins at \
	     `consumed` */
#define OXK_STEP_STOP \
	3 /* what is not consumed stays in the socket until poll_send has no more to say */
#define OXK_STEP_LEFT 4	  /* the peer said goodbye and is lost */
#define OXK_STEP_BROKEN 5 /* the peer is lost, or lost by what it wrote */

struct oxk_core_step {
	__u32 what;
	__u32 consumed;
	__u64 token;
	__u64 offset;
	__u64 bits;
	__u64 bytes;
	__u32 offered; /* the message's bytes wait at the sender */
	__u32 reserved;
};

/* A packet: a head, then `bytes` bytes from `offset` on of the memory of request `token`. */
struct oxk_core_transmit {
	__u8 head[60];
	__u32 head_bytes;
	__u64 token;
	__u64 offset;
	__u64 bytes; /* not 0: call sent when the memory is no longer read */
};

struct oxk_core_completion {
	__u64 token; /* names nothing any more */
	__u64 user;  /* as it was given */
	__u64 bits;
	__u64 bytes;
	__u64 placed;
	__u64 peer;  /* 0: a receive that met no message */
	__u32 error; /* 0 or a positive errno */
	__u32 reserved;
};

struct oxk_core_piece {
	const __u8 *data;
	__u64 offset;
	__u64 bytes;
};

#define OXK_VERDICT_LEAVE 0
#define OXK_VERDICT_TAKE 1
#define OXK_VERDICT_INTO 2

/* Memory that oxk_core_new will allocate; 0 if a bound is out of range. No lock. */
__u64 oxk_core_bytes(const struct oxk_core_bounds *bounds);
/* Process context, no lock; NULL if a bound is out of range. `secret`: two random numbers. */
struct oxk_core *oxk_core_new(const struct oxk_core_bounds *bounds, const __u64 *secret);
/* Process context, no lock, nobody else knows it any more. */
void oxk_core_free(struct oxk_core *core);
/* All peers are lost and all receives are over. */
void oxk_core_close(struct oxk_core *core);

/* The name of a new peer in *peer: 0, -EAGAIN as many as there may be, -ESHUTDOWN. `up`: it is
 * connected already. */
int oxk_core_admit(struct oxk_core *core, int up, __u64 *peer);
/* 0, or -ENOTCONN: it is lost meanwhile. */
int oxk_core_connected(struct oxk_core *core, __u64 peer);
/* Its connection has ended with this positive errno. Copies that run and memory that is read stay
 * until placed and sent. */
void oxk_core_lost(struct oxk_core *core, __u64 peer, __u32 error);
/* The name means nothing any more: 0, -ENOENT, -EBUSY not lost, or a copy runs. */
int oxk_core_forget(struct oxk_core *core, __u64 peer);

/* 0 and *token, or -ENOTCONN, -EAGAIN all requests are under way, -EMSGSIZE, -ESHUTDOWN. */
int oxk_core_send(struct oxk_core *core, __u64 peer, __u64 bits, __u64 bytes, int sync, __u64 user,
		  __u64 *token);
/* 0 and *token, or -EAGAIN, -ESHUTDOWN. */
int oxk_core_receive(struct oxk_core *core, __u64 bits, __u64 mask, __u64 capacity, __u64 user,
		     __u64 *token);
/* 0, -EAGAIN, -ENOENT. */
int oxk_core_cancel(struct oxk_core *core, __u64 token);
/* 0 and bits, bytes and peer of *found, or -ENOENT. */
int oxk_core_probe(struct oxk_core *core, __u64 bits, __u64 mask,
		   struct oxk_core_completion *found);

/* Bytes of the peer's stream, in order. */
void oxk_core_feed(struct oxk_core *core, __u64 peer, const __u8 *data, __u32 bytes,
		   struct oxk_core_step *step);
/* The bytes of the last PLACE step are placed; error 0 or a positive errno. Between the step and
 * this call the lock may be released. */
void oxk_core_placed(struct oxk_core *core, __u64 peer, __u32 error);
/* The handler's answer. INTO: memory of `capacity` bytes, and *token is its request. 0, -EAGAIN no
 * request is left: answer LEAVE, -EINVAL nothing was asked. */
int oxk_core_verdict(struct oxk_core *core, __u64 peer, __u32 verdict, __u64 user, __u64 capacity,
		     __u64 *token);
/* 0 and *token of a receive whose message lies in the core, or -ENOENT. */
int oxk_core_next_copy(struct oxk_core *core, __u64 *token);
/* 0 and the next bytes for it, valid until copied; -ENOENT: that was all. */
int oxk_core_next_piece(struct oxk_core *core, __u64 token, struct oxk_core_piece *piece);
/* The receive is over; error 0 or a positive errno. */
void oxk_core_copied(struct oxk_core *core, __u64 token, __u32 error);

/* 0 and the next packet for the peer, or -ENOENT. Packets are written in this order. */
int oxk_core_poll_send(struct oxk_core *core, __u64 peer, struct oxk_core_transmit *transmit);
/* The memory of one transmit is no longer read. */
void oxk_core_sent(struct oxk_core *core, __u64 token);
/* 0 and a request that is over, or -ENOENT. */
int oxk_core_next_completed(struct oxk_core *core, struct oxk_core_completion *completion);

/* There is a packet for the peer. */
bool oxk_core_has_to_send(struct oxk_core *core, __u64 peer);
/* The peer that a request is concerned with, or 0. */
__u64 oxk_core_peer_of(struct oxk_core *core, __u64 token);

/* The carrier PM: a link with each peer, in memory of the endpoint's. Peers are numbers of places
 * here. Every call under the endpoint's lock unless it says otherwise; `now` in nanoseconds. */
struct oxk_pm;

#define OXK_PM_PACKETS_MAX 32u
#define OXK_PM_RUNS_MAX 64u
#define OXK_PM_FRAME_BYTES_MAX 9000u /* header and payload */
#define OXK_PM_FRAME_BYTES_MIN 296u
#define OXK_PM_HEADER_BYTES 40u
#define OXK_PM_CARD_BYTES 48u
#define OXK_PM_SALT_BYTES 16u
#define OXK_PM_CHANNEL_AT 2u /* in a frame */

/* Bytes of a request's memory that belong to `at` of a frame. */
struct oxk_pm_run {
	__u64 token;
	__u64 offset;
	__u32 at;
	__u32 bytes;
	__u32 packet;
	__u32 reserved;
};

struct oxk_pm_frame {
	__u32 bytes;
	__u32 n_runs;
	__u32 repeat; /* it was sent before */
	__u32 reserved;
	struct oxk_pm_run runs[OXK_PM_RUNS_MAX];
};

/* Memory that oxk_pm_new will allocate. No lock. */
__u64 oxk_pm_bytes(__u32 peers);
/* Process context, no lock. */
struct oxk_pm *oxk_pm_new(__u32 peers);
void oxk_pm_free(struct oxk_pm *pm);
/* What this end tells the peer on the stream before frames are exchanged. No lock. */
void oxk_pm_card(__u8 *card, const __u8 *mac, __u16 channel, __u64 peer, __u32 payload_bytes_max,
		 const __u8 *salt);
/* Frames are exchanged from now on. `cards`: this end's, then the other's, whose address is written
 * to `mac`. 0, or -EPROTO: that is no card. */
int oxk_pm_begin(struct oxk_pm *pm, __u32 peer, bool dialled, const __u8 *key, const __u8 *cards,
		 __u64 now, __u8 *mac);
void oxk_pm_end(struct oxk_pm *pm, __u32 peer);
/* Moves the next packet for the peer (named as in the calls above) to its link, at place `packet`:
 * 0, or -ENOENT there is none, or no room. *token: 0, or the request whose memory is read until
 * `packet` is released. */
int oxk_pm_take(struct oxk_core *core, struct oxk_pm *pm, __u64 peer, __u32 packet, __u64 now,
		__u64 *token);
/* 0 and the next frame for the peer, all but its runs in `buffer` (OXK_PM_FRAME_BYTES_MAX); or
 * -ENOENT. */
int oxk_pm_next_frame(struct oxk_pm *pm, __u32 peer, __u64 now, __u8 *buffer,
		      struct oxk_pm_frame *frame);
/* Whether a frame's first OXK_PM_HEADER_BYTES have the name and the tag of a peer's. */
bool oxk_pm_is_signed(struct oxk_pm *pm, const __u8 *header);
/* A frame: 0 and *peer, then delivered and released until they have nothing; -EBUSY: the peer's
 * stream is held, and it will be sent again; -EBADMSG: it is no peer's. */
int oxk_pm_arrive(struct oxk_pm *pm, __u64 now, const __u8 *data, __u32 bytes, __u32 *peer);
/* 0 and the place of the next bytes of the stream in the frame that has just arrived, or -ENOENT. */
int oxk_pm_delivered(struct oxk_pm *pm, __u32 peer, __u32 *at, __u32 *bytes);
/* 0 and a packet that the peer has, or -ENOENT. */
int oxk_pm_released(struct oxk_pm *pm, __u32 peer, __u32 *packet);
void oxk_pm_hold(struct oxk_pm *pm, __u32 peer, bool held, __u64 now);
/* When oxk_pm_expire is to be called; U64_MAX: never. */
__u64 oxk_pm_timeout(struct oxk_pm *pm, __u32 peer);
/* False: the peer has been silent for too long. */
bool oxk_pm_expire(struct oxk_pm *pm, __u32 peer, __u64 now);
/* Everything that was sent is acknowledged. */
bool oxk_pm_is_quiet(struct oxk_pm *pm, __u32 peer);

/* The handshake of a connection. Needs no lock: each is used by one thread. */
struct oxk_handshake {
	__u64 private[48];
};

#define OXK_HANDSHAKE_MORE 0   /* send what there is to send, then read more */
#define OXK_HANDSHAKE_PROVEN 1 /* the other side is proven; an answerer owes it a verdict */

struct oxk_handshake_step {
	int what; /* OXK_HANDSHAKE_*, or a negative errno: close it, after sending */
	__u32 send_bytes;
	__u8 send[64];
};

/* What each side reads in all, and a dialler first. */
#define OXK_CHALLENGE_BYTES 60u
#define OXK_DIALLER_BYTES (OXK_CHALLENGE_BYTES + 33u)
#define OXK_ANSWERER_BYTES (32u + 32u)

/* Key and nonce have 16 bytes. */
void oxk_handshake_dial(struct oxk_handshake *at, const __u8 *key, const __u8 *nonce,
			struct oxk_handshake_step *step);
void oxk_handshake_answer(struct oxk_handshake *at, const __u8 *key, const __u8 *nonce);
void oxk_handshake_take(struct oxk_handshake *at, const __u8 *data, __u32 bytes,
			struct oxk_handshake_step *step);
void oxk_handshake_verdict(struct oxk_handshake *at, bool keep, struct oxk_handshake_step *step);

#endif
