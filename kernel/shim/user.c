// SPDX-License-Identifier: GPL-2.0
/*
 * user.c: what the contexts of a user have together. A user who may have few processes could have
 * thousands of the driver's threads: here they count like processes of who opened the device. Memory
 * that is no process's own is not looked at when there is too little of it, and where there are no
 * groups it has no limit: here it has one.
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/user_namespace.h>

#include "o2g_shim.h"

static OX_USERS(o2g_users, struct o2g_user);

/* The user who runs, for one more context. NULL: no memory. */
struct o2g_user *o2g_user_get(void)
{
	return ox_user_get(&o2g_users);
}

void o2g_user_put(struct o2g_user *user)
{
	ox_user_put(&o2g_users, &user->user);
}

/* 0, or -ENOMEM if the user has enough. Given back by o2g_user_uncharge. */
int o2g_user_charge(struct o2g_user *user, u64 bytes)
{
	u64 most = ((u64)totalram_pages() << PAGE_SHIFT) / O2G_USER_MEMORY_PART;

	if (ox_user_take(&o2g_users, &user->bytes, bytes, most))
		return 0;
	if (capable(CAP_SYS_RESOURCE) && ox_user_take(&o2g_users, &user->bytes, bytes, U64_MAX))
		return 0;
	return -ENOMEM;
}

void o2g_user_uncharge(struct o2g_user *user, u64 bytes)
{
	ox_user_give_back(&o2g_users, &user->bytes, bytes);
}

/* Threads that the user may have, as for fork: beside the processes, no more than the limit. */
static u64 o2g_dumpers_most(void)
{
	u64 processes = get_rlimit_value(current_ucounts(), UCOUNT_RLIMIT_NPROC);
	u64 limit = rlimit(RLIMIT_NPROC);

	return min_t(u64, O2G_USER_DUMPERS_MAX, limit > processes ? limit - processes : 0);
}

/* Before a thread is started: 0, or -EAGAIN if the user has as many as may be. */
int o2g_user_add_dumper(struct o2g_user *user)
{
	if (ox_user_take(&o2g_users, &user->n_dumpers, 1, o2g_dumpers_most()))
		return 0;
	if ((capable(CAP_SYS_RESOURCE) || capable(CAP_SYS_ADMIN)) &&
	    ox_user_take(&o2g_users, &user->n_dumpers, 1, O2G_USER_DUMPERS_MAX))
		return 0;
	return -EAGAIN;
}

void o2g_user_remove_dumper(struct o2g_user *user)
{
	ox_user_give_back(&o2g_users, &user->n_dumpers, 1);
}
