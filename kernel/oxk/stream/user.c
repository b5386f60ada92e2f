// SPDX-License-Identifier: GPL-2.0
/*
 * user.c: what the listeners and streams of a user have together. Each has an endpoint, which takes
 * memory and threads of the kernel.
 */
#include <linux/capability.h>

#include "../../runtime/users.h"
#include "stream.h"

/* A listener takes 8 MiB and two threads: 128 MiB for one user. */
#define OXKS_USER_LISTENERS_MAX 16
/* A quarter of all there may be, connected and accepted. */
#define OXKS_USER_STREAMS_MAX 256

struct oxks_user {
	struct ox_user user;
	u64 n_listeners;
	u64 n_streams;
};

static OX_USERS(oxks_users, struct oxks_user);

static bool oxks_user_take_one(struct oxks_port *port, u64 *count, u64 most)
{
	return ox_user_take(&oxks_users, count, 1, port->unbounded ? U64_MAX : most);
}

/* The user who runs, for a port: 0, -ENOMEM, or -EDQUOT if he has listeners enough. */
int oxks_user_get(struct oxks_port *port)
{
	struct oxks_user *user = ox_user_get(&oxks_users);

	if (!user)
		return -ENOMEM;
	port->unbounded = capable(CAP_SYS_RESOURCE);
	if (port->listens && !oxks_user_take_one(port, &user->n_listeners, OXKS_USER_LISTENERS_MAX)) {
		ox_user_put(&oxks_users, &user->user);
		return -EDQUOT;
	}
	port->user = user;
	return 0;
}

void oxks_user_put(struct oxks_port *port)
{
	struct oxks_user *user = port->user;

	ox_user_give_back(&oxks_users, &user->n_listeners, port->listens);
	ox_user_put(&oxks_users, &user->user);
}

/* One more stream of a port: 0, or -EDQUOT. */
int oxks_user_add_stream(struct oxks_port *port)
{
	u64 *count = &port->user->n_streams;

	return oxks_user_take_one(port, count, OXKS_USER_STREAMS_MAX) ? 0 : -EDQUOT;
}

void oxks_user_remove_stream(struct oxks_port *port)
{
	ox_user_give_back(&oxks_users, &port->user->n_streams, 1);
}
