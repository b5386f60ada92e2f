/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0
 *
 * oxk_pm.h: requests and memory of /dev/oxk-pm, by which a process has an endpoint of oxk.ko that
 * PM carries: a channel of its own, and two rings of messages that it shares with the kernel.
 * docs/oxk.md explains each.
 */
#ifndef OXK_PM_H
#define OXK_PM_H

#include <linux/types.h>
#ifdef __KERNEL__
#include <linux/ioctl.h>
#else
#include <sys/ioctl.h>
#endif

#define OXKP_SLOTS 256u		/* of each ring */
#define OXKP_SLOT_BYTES 8192u	/* longest message */
#define OXKP_CONTROL_BYTES 16384u
#define OXKP_AREA_BYTES (OXKP_CONTROL_BYTES + 2 * OXKP_SLOTS * OXKP_SLOT_BYTES)
#define OXKP_PEERS_MAX 256u
#define OXKP_REAP_US_MAX 10000u
#define OXKP_WAIT_MS_MAX 1000u
#define OXKP_ADDRESS_BYTES 28

/* A message that is to leave: written by the process, but `busy`. */
struct oxkp_out {
	__u64 peer;
	__u32 bytes;
	__u32 busy; /* 1 from the turn that takes it until nothing reads its slot any more */
};

/* A message that has come: written by the kernel. */
struct oxkp_in {
	__u64 peer;
	__u32 bytes;
	__s32 error; /* of status.error of oxk.h: what is in the slot is no message */
	__u32 stamp; /* the last that is written: how many messages have come, this one included */
	__u32 reserved;
};

/* What the memory begins with. Its slots follow: those of messages that leave, then those of
 * messages that have come. */
struct oxkp_control {
	__u32 queued;	/* by the process: entries of `queue`, since the beginning */
	__u32 consumed;	/* by the process: messages that have come and may be overwritten */
	__u32 wants;	/* by the process: it sleeps until a slot is no longer busy, too */
	__u32 news;	/* by the kernel: peers that have been lost, since the beginning */
	__u32 reserved[12];
	__u32 queue[OXKP_SLOTS]; /* slots, in the order in which their messages leave */
	struct oxkp_out out[OXKP_SLOTS];
	struct oxkp_in in[OXKP_SLOTS];
};

struct oxkp_open {
	__s32 key;     /* serial number of a key of type "user" that the caller may search for */
	__s32 ifindex; /* an Ethernet card */
	__u32 peers;
	__u32 reap_us; /* for so long OXKP_WAIT runs the card's receive itself before it sleeps */
	__u32 bytes;   /* of the address */
	__u8 address[OXKP_ADDRESS_BYTES]; /* struct sockaddr_in or sockaddr_in6, to listen at */
};

struct oxkp_connect {
	__u64 peer; /* answered */
	__u32 bytes;
	__u8 address[OXKP_ADDRESS_BYTES];
};

struct oxkp_news {
	__u64 peer;
	__s32 error;
	__u32 reserved;
};

struct oxkp_counts {
	__u64 messages_sent;
	__u64 messages_received;
	__u64 bytes_lent;   /* frames referred to the ring's pages */
	__u64 bytes_copied; /* into frames */
	__u64 bytes_placed; /* from frames into the ring, in softirq */
	__u64 bytes_kept;   /* the same by way of the endpoint's memory: the ring was full */
	__u64 frames_sent;
	__u64 frames_repeated;
	__u64 frames_received;
	__u64 frames_refused;
	__u64 reaps;
	__u64 reaps_over;
	__u64 turns;  /* requests OXKP_TURN and OXKP_WAIT */
	__u64 sleeps; /* of OXKP_WAIT */
};

#define OXKP_IOC 0xb7
#define OXKP_OPEN _IOW(OXKP_IOC, 1, struct oxkp_open)
#define OXKP_CONNECT _IOWR(OXKP_IOC, 2, struct oxkp_connect)
#define OXKP_TURN _IO(OXKP_IOC, 3) /* takes what is queued, and what is consumed back */
/* the same, then reaps, then sleeps; argument: for how many ms at most; 0: it does not sleep */
#define OXKP_WAIT _IO(OXKP_IOC, 4)
#define OXKP_NEWS _IOR(OXKP_IOC, 5, struct oxkp_news) /* EAGAIN: there is none */
#define OXKP_COUNTS _IOR(OXKP_IOC, 6, struct oxkp_counts)

#endif
