/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0
 *
 * o2g.h: what a process and the driver /dev/o2g tell each other. docs/o2g.md explains each request; wire/src/o2g.rs says the
 * same in Rust. One context per open file; all requests of a context come from the process that opened it.
 */
#ifndef O2G_H
#define O2G_H

#include <linux/types.h>
#ifdef __KERNEL__
#include <linux/ioctl.h>
#else
#include <stdint.h>
#include <sys/ioctl.h>
#endif

#define O2G_VERSION 3
#define O2G_PAGE_BYTES 4096
#define O2G_RECORD_ALIGN 32
#define O2G_DUMP_BYTES_MIN (64u << 10)
#define O2G_DUMP_BYTES_MAX (1u << 30)
#define O2G_ENTRIES_MAX (1u << 16)
#define O2G_SOCKETS_MAX (1u << 16)
#define O2G_EARLY_BYTES_MAX (64u << 10)
#define O2G_NO_SLOT 0xffffffffu
#define O2G_OTHER_VERSION (1u << 16) /* o2g_record.detail of O2G_GARBAGE, and the version byte */

/* o2g_entry.flags */
#define O2G_ANY_SOURCE 1
#define O2G_ANY_TAG 2
#define O2G_NO_BUFFER 4
#define O2G_ANSWER 8

/* o2g_record.detail of a request to send: the driver answers it */
#define O2G_ANSWERS 1

/* o2g_done.state */
#define O2G_FREE 0
#define O2G_WAITING 1
#define O2G_MATCHED 2
#define O2G_DONE 3

/* o2g_record.kind */
#define O2G_FILLER 0
#define O2G_PACKET 1
#define O2G_PAYLOAD 2
#define O2G_FAREWELL 3
#define O2G_GARBAGE 4
#define O2G_CLOSED 5

struct o2g_init {
	__u32 version;
	__u32 n_socks;
	__u32 n_entries;
	__u32 reserved;
};

struct o2g_register {
	__s32 fd;
	__u32 rank;
	__u64 early;
	__u32 early_bytes;
	__u32 desk; /* its o2g_desk */
};

struct o2g_dump_area {
	__u64 bytes;
	__u64 map_bytes; /* out */
};

struct o2g_entry {
	__u64 cookie; /* the low 32 bits are its slot */
	__u64 context;
	__u32 source;
	__s32 tag;
	__u32 flags;
	__u32 reserved;
	__u64 address;
	__u64 bytes;
	__u64 tail;
};

struct o2g_done {
	__u32 state;
	__u32 source;
	__s32 tag;
	__u32 error;
	__u64 bytes;
	__u64 cookie;
};

struct o2g_control {
	__u64 head;
	__u32 stopped;
	__u32 reserved[29];
	__u64 tail; /* written by the process */
};

/* Who writes to a socket. */
struct o2g_desk {
	__u32 busy; /* written by the process: it is within a packet, or about to write */
	__u32 owed; /* the driver has an answer to write, and found it busy */
};

struct o2g_record {
	__u32 length;
	__u16 kind;
	__u16 reserved;
	__u32 rank;
	__u32 slot;
	__u64 cookie;
	__u64 payload;
	__u32 here;
	__u32 detail;
	__u64 placed;
	__u8 prefix[56];
};

struct o2g_counters {
	__u64 packets;
	__u64 matched;
	__u64 unexpected;
	__u64 placed_bytes_softirq;
	__u64 placed_bytes_thread;
	__u64 dumped_bytes;
	__u64 runs_softirq;
	__u64 runs_thread;
	__u64 stops;
	__u64 wakeups;
	__u64 agains;
	__u64 answers;
	__u64 pages_pinned;
	__u64 pages_kept;
	__u64 pins;
	__u64 pins_reused;
	__u64 sockets;
	__u64 pages_pinned_all;
	__u64 sockets_all;
	__u64 contexts_all;
};

#define O2G_IOC 0xb5
#define O2G_INIT _IOW(O2G_IOC, 1, struct o2g_init)
#define O2G_REGISTER_SOCKET _IOW(O2G_IOC, 2, struct o2g_register)
#define O2G_FORGET_SOCKET _IO(O2G_IOC, 3)         /* argument: the rank */
#define O2G_SET_DUMP_AREA _IOWR(O2G_IOC, 4, struct o2g_dump_area)
#define O2G_START_DUMPER_THREAD _IO(O2G_IOC, 5)   /* argument: how many */
#define O2G_PUT_ENTRY _IOW(O2G_IOC, 6, struct o2g_entry)
#define O2G_CANCEL_ENTRY _IOW(O2G_IOC, 7, __u64)  /* the cookie */
#define O2G_FREE_ENTRY _IOW(O2G_IOC, 8, __u64)    /* the tail */
#define O2G_COUNTERS _IOR(O2G_IOC, 9, struct o2g_counters)
#define O2G_GIVE_ANSWERS _IO(O2G_IOC, 10)         /* no argument */

#endif
