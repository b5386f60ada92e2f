// SPDX-License-Identifier: GPL-2.0
/*
 * main.c: the file system of oxk_test.ko, and what its cases share. Written to `run`:
 *
 *     pm CASE …                  the same, carried by PM instead of TCP
 *     CASE SEED                  the two endpoints are in this namespace, at 127.0.0.1
 *     CASE SEED PID              both are in the namespace of process PID, at 127.0.0.1
 *     CASE SEED PID ADDRESS      the second is there, at ADDRESS
 *     echo PORT KEY              an endpoint that sends every message back stays open (KEY: 32
 *                                digits)
 *     quiet                      it is closed
 *     ping r|s|w N PID ADDRESS   round trips by PM (ping.c); `why` has what was counted
 *     held PORT KEY r|s|rg|sg    an endpoint whose peer keeps a request from ending (held.c)
 */
#include <linux/debugfs.h>
#include <linux/if_arp.h>
#include <linux/inet.h>
#include <linux/key-type.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/uaccess.h>
#include <keys/user-type.h>
#include <net/net_namespace.h>

#include "oxk_test.h"

static const struct test_case *const tables[] = { test_messages, test_matching, test_handler,
						  test_errors, test_ends, test_bounds };
static struct dentry *folder;
static DEFINE_MUTEX(why_lock);
static char why[256];

int test_fail(struct test *test, const char *file, int line, const char *text, ...)
{
	const char *base = strrchr(file, '/');
	va_list arguments;
	int n = snprintf(test->why, sizeof(test->why),
			 "%s:%d (seed %llu): ", base ? base + 1 : file, line, test->seed);

	va_start(arguments, text);
	vsnprintf(test->why + n, sizeof(test->why) - n, text, arguments);
	va_end(arguments);
	return -EINVAL;
}

void test_say(const char *text)
{
	mutex_lock(&why_lock);
	strscpy(why, text, sizeof(why));
	mutex_unlock(&why_lock);
}

u32 test_random(struct test *test, u32 below)
{
	/* splitmix64 */
	u64 x = test->seed += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return (u32)((x ^ x >> 31) >> 32) % below;
}

struct key *test_key(const u8 *bytes, u32 n)
{
	struct key *key =
		key_alloc(&key_type_user, "oxk_test", GLOBAL_ROOT_UID, GLOBAL_ROOT_GID,
			  current_cred(), KEY_POS_ALL | KEY_USR_VIEW, KEY_ALLOC_NOT_IN_QUOTA, NULL);
	int error;

	if (IS_ERR(key))
		return key;
	error = key_instantiate_and_link(key, bytes, n, NULL, NULL);
	if (error) {
		key_put(key);
		return ERR_PTR(error);
	}
	return key;
}

/* Waits, and says what the request ended with. */
int test_wait(struct oxk_request *request)
{
	int error = oxk_wait(request);

	return error ?: request->status.error;
}

static void pair_lost(struct oxk_endpoint *endpoint, oxk_peer_t peer, int error, void *context)
{
	struct pair *pair = context;

	pair->lost_error = error;
	atomic_inc(&pair->n_lost);
}

void pair_params(struct pair *pair)
{
	*pair = (struct pair){
		.params = {
			.requests = 64,
			.peers = 4,
			.eager_bytes = 16 << 10,
			.unexpected_bytes = 1 << 20,
			.pieces = 8192,
			.bounce_bytes = 4 << 20,
			.peer_lost = pair_lost,
		},
	};
}

/* The card by which PM goes: loopback within a namespace, else the first that is no loopback. */
static int card_of(struct test *test, struct net *net)
{
	struct net_device *card;
	int index = LOOPBACK_IFINDEX;

	if (test->near == test->far)
		return index;
	rcu_read_lock();
	for_each_netdev_rcu(net, card)
		if (card->type == ARPHRD_ETHER && card->flags & IFF_UP) {
			index = card->ifindex;
			break;
		}
	rcu_read_unlock();
	return index;
}

int pair_open(struct test *test, struct pair *pair)
{
	struct oxk_params params;
	u8 bytes[OXK_KEY_BYTES] = { 1, 2, 3 };
	struct key *key = test_key(bytes, sizeof(bytes));
	int error = -EADDRINUSE, i;

	if (IS_ERR(key))
		return fail(test, "no key: %ld", PTR_ERR(key));
	pair->params.context = pair;
	pair->address =
		(struct sockaddr_in) { .sin_family = AF_INET, .sin_addr.s_addr = test->address };
	params = pair->params;
	params.key = key;
	params.net = test->far;
	if (test->pm) {
		params.carrier = OXK_PM;
		params.ifindex = card_of(test, test->far);
	}
	params.listen = (struct sockaddr *)&pair->address;
	params.listen_bytes = sizeof(pair->address);
	for (i = 0; i < 50 && error == -EADDRINUSE; i++) {
		pair->address.sin_port = htons(20000 + test_random(test, 20000));
		error = oxk_open(&params, &pair->second);
	}
	if (!error) {
		params.net = test->near;
		if (test->pm)
			params.ifindex = card_of(test, test->near);
		params.listen = NULL;
		params.unexpected = NULL;
		error = oxk_open(&params, &pair->first);
		if (error) {
			oxk_close(pair->second);
			pair->second = NULL;
		}
	}
	key_put(key);
	if (!error)
		error = oxk_connect(pair->first, (struct sockaddr *)&pair->address,
				    sizeof(pair->address), &pair->peer);
	return error ? fail(test, "a pair cannot be opened: %d", error) : 0;
}

void pair_close(struct pair *pair)
{
	if (pair->first)
		oxk_close(pair->first);
	if (pair->second)
		oxk_close(pair->second);
	pair->first = pair->second = NULL;
}

static int run(struct test *test, const char *name)
{
	const struct test_case *each;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(tables); i++)
		for (each = tables[i]; each->name; each++)
			if (!strcmp(each->name, name))
				return each->run(test);
	return fail(test, "there is no case %s", name);
}

static int run_words(struct test *test, char *words)
{
	char name[32], address[48], key[40], what[4];
	u8 bytes[OXK_KEY_BYTES];
	int pid, n, error;
	u32 port;

	if (!strncmp(words, "pm ", 3)) {
		test->pm = true;
		words += 3;
	}
	if (!strcmp(words, "quiet")) {
		echo_close();
		return 0;
	}
	if (sscanf(words, "echo %u %39s", &port, key) == 2) {
		if (hex2bin(bytes, key, sizeof(bytes)))
			return fail(test, "no key");
		return echo_open(test, port, bytes);
	}
	if (sscanf(words, "held %u %39s %3s", &port, key, what) == 3) {
		if (hex2bin(bytes, key, sizeof(bytes)))
			return fail(test, "no key");
		return held(test, port, bytes, what);
	}
	if (sscanf(words, "ping %3s %u %d %47s", what, &port, &pid, address) == 4) {
		test->pm = true;
		test->far = get_net_ns_by_pid(pid);
		if (IS_ERR(test->far))
			return fail(test, "process %d has no namespace", pid);
		test->near = get_net(current->nsproxy->net_ns);
		test->address = in_aton(address);
		error = ping(test, what, port);
		put_net(test->near);
		put_net(test->far);
		return error;
	}
	n = sscanf(words, "%31s %llu %d %47s", name, &test->seed, &pid, address);
	test->far = n < 3 ? get_net(current->nsproxy->net_ns) : get_net_ns_by_pid(pid);
	if (IS_ERR(test->far))
		return fail(test, "process %d has no namespace", pid);
	test->near = get_net(n == 4 ? current->nsproxy->net_ns : test->far);
	test->address = n == 4 ? in_aton(address) : htonl(INADDR_LOOPBACK);
	error = run(test, name);
	put_net(test->near);
	put_net(test->far);
	return error;
}

static ssize_t run_write(struct file *file, const char __user *from, size_t bytes, loff_t *at)
{
	struct test *test = kzalloc(sizeof(*test), GFP_KERNEL);
	char words[128] = {};
	int error;

	if (!test)
		return -ENOMEM;
	if (bytes >= sizeof(words) || copy_from_user(words, from, bytes)) {
		kfree(test);
		return -EINVAL;
	}
	error = run_words(test, strim(words));
	if (error)
		test_say(test->why);
	kfree(test);
	return error ?: bytes;
}

static ssize_t why_read(struct file *file, char __user *to, size_t bytes, loff_t *at)
{
	return simple_read_from_buffer(to, bytes, at, why, strlen(why));
}

static int cases_show(struct seq_file *file, void *unused)
{
	const struct test_case *each;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(tables); i++)
		for (each = tables[i]; each->name; each++)
			seq_printf(file, "%s\n", each->name);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(cases);

static const struct file_operations run_operations = { .owner = THIS_MODULE, .write = run_write };
static const struct file_operations why_operations = { .owner = THIS_MODULE, .read = why_read };

static int __init test_init(void)
{
	folder = debugfs_create_dir("oxk_test", NULL);
	debugfs_create_file("run", 0200, folder, NULL, &run_operations);
	debugfs_create_file("why", 0400, folder, NULL, &why_operations);
	debugfs_create_file("cases", 0400, folder, NULL, &cases_fops);
	return 0;
}

static void __exit test_exit(void)
{
	debugfs_remove(folder);
	echo_close();
	pr_info("oxk_test: left behind: 0 endpoints\n");
}

module_init(test_init);
module_exit(test_exit);
MODULE_LICENSE("GPL");
MODULE_AUTHOR("The OxMPI developers");
MODULE_DESCRIPTION("Cases for oxk.ko");
