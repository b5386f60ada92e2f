/* SPDX-License-Identifier: GPL-2.0
 *
 * users.h: bounds that hold for a user, whatever files the user has opened. Threads and memory of
 * the kernel count as nobody's, so whoever may open a device could have any number of them. Each
 * module has users of its own.
 *
 * Users are few, and asked about only when something begins or ends: a list under a lock.
 */
#ifndef OX_USERS_H
#define OX_USERS_H

#include <linux/cred.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uidgid.h>

/* What a module's structure about a user begins with, as the member `user`. */
struct ox_user {
	struct list_head list;
	kuid_t uid;
	u32 n_holders; /* that name it */
};

struct ox_users {
	struct mutex lock; /* also of what users have */
	struct list_head list;
	size_t bytes; /* of a module's structure */
};

#define OX_USERS(name, type)                                              \
	struct ox_users name = {                                          \
		.lock = __MUTEX_INITIALIZER(name.lock),                   \
		.list = LIST_HEAD_INIT(name.list),                        \
		.bytes = sizeof(type) +                                   \
			 BUILD_BUG_ON_ZERO(offsetof(type, user) != 0),    \
	}

static inline struct ox_user *ox_user_find(struct ox_users *users, kuid_t uid)
{
	struct ox_user *user;

	list_for_each_entry(user, &users->list, list)
		if (uid_eq(user->uid, uid))
			return user;
	user = kzalloc(users->bytes, GFP_KERNEL_ACCOUNT);
	if (!user)
		return NULL;
	user->uid = uid;
	list_add(&user->list, &users->list);
	return user;
}

/* The user who runs, for one more holder. NULL: no memory. */
static inline void *ox_user_get(struct ox_users *users)
{
	struct ox_user *user;

	mutex_lock(&users->lock);
	user = ox_user_find(users, current_uid());
	if (user)
		user->n_holders++;
	mutex_unlock(&users->lock);
	return user;
}

static inline void ox_user_put(struct ox_users *users, struct ox_user *user)
{
	mutex_lock(&users->lock);
	if (!--user->n_holders) {
		list_del(&user->list);
		kfree(user);
	}
	mutex_unlock(&users->lock);
}

/* One of the counts in a module's structure grows, unless it were more than `most` then. */
static inline bool ox_user_take(struct ox_users *users, u64 *count, u64 more, u64 most)
{
	bool fits;

	mutex_lock(&users->lock);
	fits = more <= most && *count <= most - more;
	if (fits)
		*count += more;
	mutex_unlock(&users->lock);
	return fits;
}

static inline void ox_user_give_back(struct ox_users *users, u64 *count, u64 less)
{
	mutex_lock(&users->lock);
	*count -= less;
	mutex_unlock(&users->lock);
}

#endif
