// SPDX-License-Identifier: GPL-2.0
/*
 * user.c: what the contexts of a user have together. Threads of the kernel count as nobody's, so a
 * user who may have few processes could have thousands of them: here they count like processes of
 * who opened the device. Memory that is no process's own is not looked at when there is too little
 * of it, and where there are no groups it has no limit: here it has one.
 *
 * Users are few, and asked about only when the device is opened and threads start or end: a list
 * under a lock.
 */
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include "o2g_shim.h"

static LIST_HEAD(o2g_users);
static DEFINE_MUTEX(o2g_users_lock);

static struct o2g_user *o2g_find_user(kuid_t uid)
{
	struct o2g_user *user;

	list_for_each_entry(user, &o2g_users, list)
		if (uid_eq(user->uid, uid))
			return user;
	user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	if (!user)
		return NULL;
	user->uid = uid;
	list_add(&user->list, &o2g_users);
	return user;
}

/* The user who runs, for one more context. NULL: no memory. */
struct o2g_user *o2g_user_get(void)
{
	struct o2g_user *user;

	mutex_lock(&o2g_users_lock);
	user = o2g_find_user(current_uid());
	if (user)
		user->n_contexts++;
	mutex_unlock(&o2g_users_lock);
	return user;
}

void o2g_user_put(struct o2g_user *user)
{
	mutex_lock(&o2g_users_lock);
	if (!--user->n_contexts) {
		list_del(&user->list);
		kfree(user);
	}
	mutex_unlock(&o2g_users_lock);
}

/* 0, or -ENOMEM if the user has enough. Given back by o2g_user_uncharge. */
int o2g_user_charge(struct o2g_user *user, u64 bytes)
{
	u64 most = ((u64)totalram_pages() << PAGE_SHIFT) / O2G_USER_MEMORY_PART;
	int error = 0;

	mutex_lock(&o2g_users_lock);
	if (user->bytes + bytes <= most || capable(CAP_SYS_RESOURCE))
		user->bytes += bytes;
	else
		error = -ENOMEM;
	mutex_unlock(&o2g_users_lock);
	return error;
}

void o2g_user_uncharge(struct o2g_user *user, u64 bytes)
{
	mutex_lock(&o2g_users_lock);
	user->bytes -= bytes;
	mutex_unlock(&o2g_users_lock);
}

/* As for fork: what the user has, and who is exempt. */
static bool o2g_may_start(const struct o2g_user *user)
{
	unsigned long processes = get_rlimit_value(current_ucounts(), UCOUNT_RLIMIT_NPROC);

	if (user->n_dumpers >= O2G_USER_DUMPERS_MAX)
		return false;
	return user->n_dumpers + processes < rlimit(RLIMIT_NPROC) || capable(CAP_SYS_RESOURCE) || capable(CAP_SYS_ADMIN);
}

/* Before a thread is started: 0, or -EAGAIN if the user has as many as may be. */
int o2g_user_add_dumper(struct o2g_user *user)
{
	int error = 0;

	mutex_lock(&o2g_users_lock);
	if (o2g_may_start(user))
		user->n_dumpers++;
	else
		error = -EAGAIN;
	mutex_unlock(&o2g_users_lock);
	return error;
}

void o2g_user_remove_dumper(struct o2g_user *user)
{
	mutex_lock(&o2g_users_lock);
	user->n_dumpers--;
	mutex_unlock(&o2g_users_lock);
}
