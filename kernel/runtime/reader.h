/* SPDX-License-Identifier: GPL-2.0
 *
 * reader.h: the bytes of a TCP socket, piece by piece as they lie in its receive queue. o2g.ko and
 * oxk.ko read their sockets by it.
 */
#ifndef OX_READER_H
#define OX_READER_H

#include <linux/skbuff.h>
#include <net/tcp.h>

struct ox_reader {
	/* Uses bytes and says how many; less than all only with `stopped`. */
	u32 (*feed)(struct ox_reader *reader, const u8 *data, u32 bytes);
	bool stopped; /* nothing more is wanted; the rest stays in the socket */
};

/* tcp_read_sock calls it with each piece of the receive queue. */
static inline int ox_reader_take(read_descriptor_t *descriptor, struct sk_buff *skb,
				 unsigned int offset, size_t bytes)
{
	struct ox_reader *reader = descriptor->arg.data;
	struct skb_seq_state state;
	const u8 *data;
	u32 used = 0, n;

	/* It also calls again for the rest of a piece that was not used up. */
	if (reader->stopped)
		return 0;
	skb_prepare_seq_read(skb, offset, offset + bytes, &state);
	while ((n = skb_seq_read(used, &data, &state))) {
		n = min_t(u32, n, bytes - used);
		used += reader->feed(reader, data, n);
		if (reader->stopped) {
			skb_abort_seq_read(&state);
			break;
		}
	}
	return used;
}

/* Reads all there is. The socket is locked. */
static inline void ox_read_socket(struct sock *sk, struct ox_reader *reader)
{
	read_descriptor_t descriptor = { .arg.data = reader, .count = 1 };

	tcp_read_sock(sk, &descriptor, ox_reader_take);
}

/* The socket is locked. */
static inline bool ox_socket_has_ended(const struct sock *sk)
{
	return (sk->sk_shutdown & RCV_SHUTDOWN) || sk->sk_state == TCP_CLOSE;
}

#endif
