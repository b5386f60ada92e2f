// SPDX-License-Identifier: GPL-2.0
/*
 * user.c: what the listeners and streams of a user have together. Each has an endpoint, which takes
 * memory and threads of the kernel that count as nobody's: whoever may open the device could have
 * as many as addresses. Users are few, and asked about only when something begins or ends: a list
 * under a lock.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uidgid.h>

#include "stream.h"

/* A listener takes 8 MiB and two threads: 128 MiB for one user. */
#define OXKS_USER_LISTENERS_MAX 16
/* A quarter of all there may be, connected and accepted. */
#define OXKS_USER_STREAMS_MAX 256

struct oxks_user {
	struct list_head list;
	kuid_t uid;
	u32 n_ports;
	u32 n_listeners;
	u32 n_streams;
};

static LIST_HEAD(oxks_users);
static DEFINE_MUTEX(oxks_users_lock);

static struct oxks_user *oxks_user_find(kuid_t uid)
{
	struct oxks_user *user;

	list_for_each_entry(user, &oxks_users, list)
		if (uid_eq(user->uid, uid))
			return user;
	user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	if (!user)
		return NULL;
	user->uid = uid;
	list_add(&user->list, &oxks_users);
	return user;
}

/* The user who runs, for a port: 0, -ENOMEM, or -EDQUOT if he has listeners enough. */
int oxks_user_get(struct oxks_port *port)
{
	struct oxks_user *user;
	int error = 0;

	port->unbounded = capable(CAP_SYS_RESOURCE);
	mutex_lock(&oxks_users_lock);
	user = oxks_user_find(current_uid());
	if (!user)
		error = -ENOMEM;
	else if (port->listens && user->n_listeners >= OXKS_USER_LISTENERS_MAX && !port->unbounded)
		error = -EDQUOT;
	if (!error) {
		user->n_ports++;
		user->n_listeners += port->listens;
		port->user = user;
	}
	mutex_unlock(&oxks_users_lock);
	return error;
}

void oxks_user_put(struct oxks_port *port)
{
	struct oxks_user *user = port->user;

	mutex_lock(&oxks_users_lock);
	user->n_listeners -= port->listens;
	if (!--user->n_ports) {
		list_del(&user->list);
		kfree(user);
	}
	mutex_unlock(&oxks_users_lock);
}

/* One more stream of a port: 0, or -EDQUOT. */
int oxks_user_add_stream(struct oxks_port *port)
{
	int error = 0;

	mutex_lock(&oxks_users_lock);
	if (port->user->n_streams >= OXKS_USER_STREAMS_MAX && !port->unbounded)
		error = -EDQUOT;
	else
		port->user->n_streams++;
	mutex_unlock(&oxks_users_lock);
	return error;
}

void oxks_user_remove_stream(struct oxks_port *port)
{
	mutex_lock(&oxks_users_lock);
	port->user->n_streams--;
	mutex_unlock(&oxks_users_lock);
}
