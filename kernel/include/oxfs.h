/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0
 *
 * oxfs.h: the protocol of the remote file system oxfs. docs/oxfs.md explains it.
 *
 * Client and server are endpoints of oxk (docs/oxk.md). Every message is matched by 64 bits: 4 of
 * kind, 12 of operation, 48 of transaction. Integers are little endian; structures have no padding
 * that is not named.
 */
#ifndef OXFS_H
#define OXFS_H

#include <linux/types.h>

#define OXFS_VERSION 1u
#define OXFS_PORT 5021u
#define OXFS_NAME_MAX 255u
#define OXFS_TARGET_MAX 4095u	     /* of a symbolic link */
#define OXFS_XATTR_MAX 65536u	     /* of a value, or of a list of names */
#define OXFS_GROUPS_MAX 64u	     /* supplementary groups that travel */
#define OXFS_REQUEST_MAX 1024u	     /* header, groups and names */
#define OXFS_DATA_MAX (1u << 20)     /* of one READ, WRITE or READDIR */
#define OXFS_SLOTS_MAX 64u
#define OXFS_NO_SLOT 0xffffffffu
#define OXFS_APPEND 0xffffffffffffffffull /* WRITE's offset: the end, whoever else writes */

/* ---- matching ------------------------------------------------------------------------ */

#define OXFS_KIND_SHIFT 60
#define OXFS_OPERATION_SHIFT 48
#define OXFS_TRANSACTION_MASK ((1ull << OXFS_OPERATION_SHIFT) - 1)

enum oxfs_kind {
	OXFS_REQUEST = 1,  /* client to server: struct oxfs_request, groups, names */
	OXFS_REPLY = 2,	   /* server to client: struct oxfs_reply */
	OXFS_DATA_IN = 3,  /* server to client: what READ, READDIR, READLINK and others give */
	OXFS_DATA_OUT = 4, /* client to server: what WRITE, SYMLINK, SETXATTR bring */
	OXFS_RECALL = 5,   /* server to client: struct oxfs_recall; the server numbers it */
	OXFS_RECALLED = 6, /* client to server: the answer, without bytes */
};

enum oxfs_operation {
	OXFS_HELLO = 1,	 /* begins a session, or takes one up again */
	OXFS_GOODBYE,	 /* ends it: opens are closed, locks freed */
	OXFS_RENEW,	 /* the session lives; after a third of the lease without a request */
	OXFS_LOOKUP,	 /* node = folder, name */
	OXFS_GETATTR,	 /* node */
	OXFS_SETATTR,	 /* node, open or 0; OXFS_SET_ */
	OXFS_ACCESS,	 /* node; arguments[0] = MAY_READ 4, MAY_WRITE 2, MAY_EXEC 1 */
	OXFS_CREATE,	 /* node = folder, name; [0] mode after umask, [1] O_ flags of Linux */
	OXFS_MKDIR,	 /* node = folder, name; [0] mode */
	OXFS_MKNOD,	 /* node = folder, name; [0] mode, [1] device: major << 32 | minor */
	OXFS_SYMLINK,	 /* node = folder, name; the target is DATA_OUT, [0] its bytes */
	OXFS_LINK,	 /* node = folder, name; [0] the node that gets a name */
	OXFS_UNLINK,	 /* node = folder, name */
	OXFS_RMDIR,	 /* node = folder, name */
	OXFS_RENAME,	 /* node = folder, name; [0] folder of name2, [1] RENAME_ flags of Linux */
	OXFS_READLINK,	 /* node; DATA_IN */
	OXFS_OPEN,	 /* node; [0] O_ flags, [1] an open to reclaim after a restart, or 0 */
	OXFS_CLOSE,	 /* open */
	OXFS_READ,	 /* node, open; [0] offset, [1] bytes; DATA_IN */
	/* node, open; [0] offset, or OXFS_APPEND, [1] bytes, [2] 1: to stable storage; DATA_OUT;
	 * values[0] bytes written, values[1] if those are not all, the errno that ended it or 0 */
	OXFS_WRITE,
	OXFS_FSYNC,	 /* node, open; [0] 1: data alone */
	OXFS_READDIR,	 /* node, open; [0] cookie, [1] bytes; DATA_IN: struct oxfs_entry, names */
	OXFS_STATFS,	 /* node; values: blocks, free, available, files, free files, block size */
	OXFS_FALLOCATE,	 /* node, open; [0] FALLOC_ flags, [1] offset, [2] bytes */
	OXFS_SEEK,	 /* node, open; [0] offset, [1] SEEK_DATA or SEEK_HOLE; values[0] */
	OXFS_GETXATTR,	 /* node, name; [0] bytes of room, 0: values[0] says how many; DATA_IN */
	OXFS_SETXATTR,	 /* node, name; [0] bytes, [1] XATTR_ flags; DATA_OUT */
	OXFS_LISTXATTR,	 /* node; [0] bytes of room; DATA_IN */
	OXFS_REMOVEXATTR, /* node, name */
	/* node, open; [0] owner, [1] F_RDLCK, F_WRLCK or F_UNLCK, [2] first byte, [3] last byte,
	 * [4] OXFS_LOCK_. The reply to a request that waits comes when the lock is granted; F_UNLCK of
	 * the owner ends its waiting with EINTR. */
	OXFS_LOCK,
	OXFS_TESTLOCK,	 /* the same; values: type, first, last, process of one in the way */
	OXFS_OPERATIONS, /* how many, and one */
};

/* ---- messages ------------------------------------------------------------------------ */

struct oxfs_request {
	__le64 session;	    /* 0 in the first HELLO */
	__le32 slot;	    /* of changing operations; OXFS_NO_SLOT: may be done twice */
	__le32 sequence;    /* in its slot, from 1 */
	__le64 node;
	__le64 open;	    /* 0: none */
	__le32 uid;
	__le32 gid;
	__le16 n_groups;    /* __le32 each, after this structure */
	__le16 name_bytes;  /* then the names, without an end mark */
	__le16 name2_bytes;
	__le16 reserved;
	__le64 arguments[6];
};

/* HELLO's arguments: [0] version, [1] and [2] a random name that the client keeps for the life of
 * the mount, [3] OXFS_HELLO_. Values of the reply: [0] session, [1] slots, [2] bytes of one READ or
 * WRITE at most, [3] lease in ms, [4] name of the boot of the server's machine (what was not synced
 * before another boot is lost), [5] OXFS_SESSION_; node and attr are the root's. */
#define OXFS_HELLO_READ_ONLY 1u
#define OXFS_SESSION_KNOWN 1u /* the server has its opens, locks and replies */
/* Without it, and with the session that was asked for: the server was started again. It has the
 * replies; opens are reclaimed by OPEN, locks by OXFS_LOCK_RECLAIM. With another session: nothing is
 * left, and slots begin anew. EKEYEXPIRED answers requests without a session: say HELLO. */

struct oxfs_time {
	__le64 seconds; /* signed */
	__le32 nanoseconds;
	__le32 reserved;
};

struct oxfs_attr {
	__le64 inode;	/* as programs see it */
	__le64 size;
	__le64 blocks;	/* of 512 bytes */
	__le64 device;	/* major << 32 | minor, of special files */
	__le64 change;	/* differs when data, entries or attributes have changed */
	__le32 mode;
	__le32 links;
	__le32 uid;
	__le32 gid;
	struct oxfs_time access, modified, changed;
};

struct oxfs_reply {
	__le32 error;	   /* 0 or a positive errno of Linux */
	__le32 flags;	   /* OXFS_REPLY_ */
	__le64 node;
	__le64 open;
	__le64 data_bytes; /* of the DATA_IN that comes, too, before or after this; 0: none does */
	__le64 values[6];  /* WRITE: [0] bytes written. READDIR: [0] 1 at the end, [1] next cookie */
	struct oxfs_attr attr;
};
#define OXFS_REPLY_ATTR 1u   /* attr is that of `node`, or of the node asked about */
#define OXFS_REPLY_FOLDER 2u /* values[4] and [5]: the folder's change before and after */

struct oxfs_entry {
	__le64 node;	/* 0: look it up */
	__le64 inode;
	__le64 cookie;	/* where the next one is */
	__le16 name_bytes;
	__u8 type;	/* DT_ of Linux */
	__u8 reserved[5];
	/* the name, then zeros up to a multiple of 8 */
};

/* SETATTR: arguments[0] = which, [1] mode, [2] uid << 32 | gid, [3] size, [4] access, [5] modified:
 * nanoseconds since 1970, signed. */
#define OXFS_SET_MODE 1u
#define OXFS_SET_UID 2u
#define OXFS_SET_GID 4u
#define OXFS_SET_SIZE 8u
#define OXFS_SET_ACCESS 16u
#define OXFS_SET_MODIFIED 32u
#define OXFS_SET_ACCESS_NOW 64u
#define OXFS_SET_MODIFIED_NOW 128u

#define OXFS_LOCK_WAIT 1u
#define OXFS_LOCK_WHOLE 2u   /* flock: of the open, not of the process */
#define OXFS_LOCK_RECLAIM 4u /* held before the server was started again */

/* What another client changes. The server waits for the answer, at most for a lease, before it
 * does what would make the client's cache a lie. */
struct oxfs_recall {
	__le64 node;
	__le32 what; /* OXFS_RECALL_ */
	__le32 reserved;
};
#define OXFS_RECALL_DATA 1u    /* write back and forget pages */
#define OXFS_RECALL_ATTR 2u    /* forget attributes */
#define OXFS_RECALL_ENTRIES 4u /* forget names below this folder */

#endif
