// SPDX-License-Identifier: GPL-2.0
/*
 * oxk_hello.c: a client of oxk.ko. It opens an endpoint, connects to a peer that sends every
 * message back with its bits plus one, sends a text and waits for it. docs/oxk.md walks through it.
 *
 *     insmod oxk_hello.ko peer=10.0.0.2 port=19000 key=SERIAL text=hello
 *     cat /sys/module/oxk_hello/parameters/answer
 */
#include <linux/in.h>
#include <linux/inet.h>
#include <linux/key.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "../../include/oxk.h"

#define TEXT_MAX 256
#define PATIENCE_MS 10000

static char *peer = "127.0.0.1";
module_param(peer, charp, 0444);
MODULE_PARM_DESC(peer, "IPv4 address of the peer");
static ushort port;
module_param(port, ushort, 0444);
MODULE_PARM_DESC(port, "its port");
static int key;
module_param(key, int, 0444);
MODULE_PARM_DESC(key, "serial number of a key of type user with 16 bytes, as keyctl prints it");
static char text[TEXT_MAX] = "hello";
module_param_string(text, text, TEXT_MAX, 0444);
MODULE_PARM_DESC(text, "what is sent");
static char answer[TEXT_MAX];
module_param_string(answer, answer, TEXT_MAX, 0444);
MODULE_PARM_DESC(answer, "what came back; set by the module");

static struct oxk_endpoint *endpoint;

/* One message under way. Requests are embedded, so that `done` finds what they belong to. */
struct message {
	struct oxk_request request;
	struct completion over;
	struct kvec memory;
};

/* In softirq, or wherever the message ended: may not sleep. */
static void message_done(struct oxk_request *request)
{
	complete(&container_of(request, struct message, request)->over);
}

/* Sets it up and returns the vector that names its memory. */
static struct oxk_vector message_begin(struct message *message, void *bytes, size_t n)
{
	message->request = (struct oxk_request) { .done = message_done };
	message->memory = (struct kvec) { .iov_base = bytes, .iov_len = n };
	init_completion(&message->over);
	return (struct oxk_vector) { .kind = OXK_KERNEL, .n = 1, .kernel = &message->memory };
}

/* After this its memory is ours again. */
static int message_give_up(struct message *message)
{
	if (!oxk_abandon(&message->request))
		return -ETIMEDOUT; /* taken back: message_done is not called */
	wait_for_completion(&message->over);
	return message->request.status.error;
}

/* Waits for a while, then gives it up. */
static int message_end(struct message *message)
{
	if (!wait_for_completion_timeout(&message->over, msecs_to_jiffies(PATIENCE_MS)))
		return message_give_up(message);
	return message->request.status.error;
}

static void peer_lost(struct oxk_endpoint *of, oxk_peer_t lost, int error, void *context)
{
	pr_info("oxk_hello: the peer is lost: %d\n", error);
}

static int open_endpoint(void)
{
	struct oxk_params params = {
		.net = current->nsproxy->net_ns,
		.requests = 2, /* a send and a receive at once */
		.peers = 1,
		.eager_bytes = 4096,
		.unexpected_bytes = 64 << 10,
		.peer_lost = peer_lost,
	};
	key_ref_t found = lookup_user_key(key, 0, KEY_NEED_SEARCH);
	int error;

	if (IS_ERR(found))
		return PTR_ERR(found);
	params.key = key_ref_to_ptr(found);
	error = oxk_open(&params, &endpoint);
	key_ref_put(found);
	return error;
}

/* Sends the text and waits until it is back. */
static int greet(oxk_peer_t to)
{
	struct message *receive = kzalloc(sizeof(*receive), GFP_KERNEL);
	struct message *send = kzalloc(sizeof(*send), GFP_KERNEL);
	const u64 bits = 0x68656c6c6full;
	struct oxk_vector vector;
	int error = -ENOMEM, ended;

	if (!receive || !send)
		goto out;
	/* The receive first: what comes then goes straight to its memory. */
	vector = message_begin(receive, answer, sizeof(answer) - 1);
	error = oxk_irecv(endpoint, bits + 1, OXK_MASK_FULL, &vector, &receive->request);
	if (error)
		goto out;
	vector = message_begin(send, text, strlen(text));
	error = oxk_isend(endpoint, to, bits, &vector, &send->request);
	if (!error)
		error = message_end(send);
	/* Whatever became of the send, the receive is not left under way. */
	ended = error ? message_give_up(receive) : message_end(receive);
	if (!error)
		error = ended;
	if (!error)
		answer[receive->request.status.placed] = 0;
out:
	kfree(send);
	kfree(receive);
	return error;
}

static int __init hello_init(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };
	oxk_peer_t to;
	int error;

	address.sin_addr.s_addr = in_aton(peer);
	error = open_endpoint();
	if (error)
		return error;
	/* It returns at once; a connection that fails fails the sends. */
	error = oxk_connect(endpoint, (struct sockaddr *)&address, sizeof(address), &to);
	if (!error)
		error = greet(to);
	if (error) {
		pr_err("oxk_hello: no answer from %s:%u: %d\n", peer, port, error);
		oxk_close(endpoint);
		return error;
	}
	pr_info("oxk_hello: \"%s\" came back\n", answer);
	return 0;
}

static void __exit hello_exit(void)
{
	oxk_close(endpoint);
	pr_info("oxk_hello: left behind: 0 endpoints\n");
}

module_init(hello_init);
module_exit(hello_exit);
MODULE_LICENSE("GPL");
MODULE_AUTHOR("The OxMPI developers");
MODULE_DESCRIPTION("An example of kernel code that uses oxk.ko");
