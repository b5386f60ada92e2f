/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0
 *
 * oxk_stream.h: requests of /dev/oxk-stream, a stream of bytes between two processes whose memory
 * is sent and received without copies. docs/oxk.md explains each.
 */
#ifndef OXK_STREAM_H
#define OXK_STREAM_H

#include <linux/types.h>
#ifdef __KERNEL__
#include <linux/ioctl.h>
#else
#include <sys/ioctl.h>
#endif

/* A read or a write moves so much at a time. */
#define OXKS_PIECE_BYTES (256u << 10)
#define OXKS_ADDRESS_BYTES 28
#define OXKS_BACKLOG_MAX 32
#define OXKS_STREAMS_MAX 64 /* of one listener */

struct oxks_address {
	__s32 key;     /* serial number of a key of type "user" that the caller may search for */
	__u32 backlog; /* of OXKS_LISTEN: streams that wait for accept; otherwise 0 */
	__u32 bytes;   /* of the address */
	__u8 address[OXKS_ADDRESS_BYTES]; /* struct sockaddr_in or sockaddr_in6 */
};

struct oxks_counts {
	__u64 reads;	    /* messages received into the caller's pages */
	__u64 writes;	    /* messages sent from the caller's pages */
	__u64 bytes_read;   /* received straight into the caller's pages */
	__u64 bytes_written; /* sent straight from the caller's pages */
	__u64 bytes_copied; /* through the kernel's memory: the rest of a message that was longer than a
			     * read, and writes that do not wait */
	__u64 pages_pinned; /* since the stream began */
	__u64 wakeups;	    /* how often a caller slept and was woken */
};

#define OXKS_IOC 0xb6
#define OXKS_LISTEN _IOW(OXKS_IOC, 1, struct oxks_address)
#define OXKS_CONNECT _IOW(OXKS_IOC, 2, struct oxks_address)
/* argument: 0 or O_NONBLOCK of the new descriptor, which is answered */
#define OXKS_ACCEPT _IO(OXKS_IOC, 3)
#define OXKS_SHUTDOWN _IO(OXKS_IOC, 4) /* nothing more is written */
#define OXKS_COUNTS _IOR(OXKS_IOC, 5, struct oxks_counts)

#endif
