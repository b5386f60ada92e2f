// SPDX-License-Identifier: GPL-2.0
/*
 * count.c: /sys/kernel/debug/oxfs/counts, a line "name value" for each counter of all mounts, of
 * oxfs itself and, with "oxk_" before the name, of its endpoints: those that are gone and those
 * that are there.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "oxfs_client.h"

atomic64_t oxfs_counts[OXFS_COUNTS];
static struct dentry *oxfs_debug;

static const char *const oxfs_count_names[OXFS_COUNTS] = {
	[OXFS_COUNT_REQUESTS] = "requests",
	[OXFS_COUNT_REPEATED] = "repeated",
	[OXFS_COUNT_BYTES_IN] = "bytes_in",
	[OXFS_COUNT_BYTES_OUT] = "bytes_out",
	[OXFS_COUNT_BOUNCED] = "bytes_bounced",
	[OXFS_COUNT_PAGES_PINNED] = "pages_pinned",
	[OXFS_COUNT_WAKEUPS] = "wakeups",
	[OXFS_COUNT_RECONNECTS] = "reconnects",
	[OXFS_COUNT_RECALLS] = "recalls",
	[OXFS_COUNT_REFUSED] = "refused",
	[OXFS_COUNT_ALIVE] = "alive",
};

#define OXFS_OXK_COUNTS (sizeof(struct oxk_counts) / sizeof(u64))

static const char *const oxfs_oxk_names[] = {
	"messages_sent", "messages_received", "bytes_lent", "bytes_copied", "bytes_placed",
	"bytes_kept", "bytes_bounced", "pages_pinned_now", "pages_pinned", "wakeups",
	"softirq_runs", "thread_runs", "strangers", "frames_sent", "frames_repeated",
	"frames_received", "frames_refused", "reaps", "reaps_over",
};
static_assert(ARRAY_SIZE(oxfs_oxk_names) == OXFS_OXK_COUNTS);

/* Also guards the endpoints of sessions against being closed. */
static DEFINE_MUTEX(oxfs_counts_lock);
static LIST_HEAD(oxfs_counts_sessions);
static u64 oxfs_oxk_counts[OXFS_OXK_COUNTS]; /* of endpoints that are gone */

void oxfs_counts_add(struct oxfs_session *session)
{
	mutex_lock(&oxfs_counts_lock);
	list_add_tail(&session->all, &oxfs_counts_sessions);
	mutex_unlock(&oxfs_counts_lock);
}

void oxfs_counts_remove(struct oxfs_session *session)
{
	mutex_lock(&oxfs_counts_lock);
	list_del(&session->all);
	mutex_unlock(&oxfs_counts_lock);
}

static void oxfs_counts_sum(struct oxfs_session *session, u64 *sum)
{
	union {
		struct oxk_counts counts;
		u64 values[OXFS_OXK_COUNTS];
	} now = { };
	u32 i;

	if (session->endpoint)
		oxk_count(session->endpoint, &now.counts);
	for (i = 0; i < OXFS_OXK_COUNTS; i++)
		sum[i] += now.values[i];
}

/* A session's endpoint comes. */
void oxfs_counts_begin(struct oxfs_session *session, struct oxk_endpoint *endpoint)
{
	mutex_lock(&oxfs_counts_lock);
	WRITE_ONCE(session->endpoint, endpoint);
	mutex_unlock(&oxfs_counts_lock);
}

/* And goes: what it has counted stays. */
void oxfs_counts_keep(struct oxfs_session *session)
{
	mutex_lock(&oxfs_counts_lock);
	oxfs_counts_sum(session, oxfs_oxk_counts);
	WRITE_ONCE(session->endpoint, NULL);
	mutex_unlock(&oxfs_counts_lock);
}

static int oxfs_counts_show(struct seq_file *file, void *unused)
{
	struct oxfs_session *session;
	u64 sum[OXFS_OXK_COUNTS];
	u32 i;

	mutex_lock(&oxfs_counts_lock);
	memcpy(sum, oxfs_oxk_counts, sizeof(sum));
	list_for_each_entry(session, &oxfs_counts_sessions, all)
		oxfs_counts_sum(session, sum);
	mutex_unlock(&oxfs_counts_lock);
	for (i = 0; i < OXFS_COUNTS; i++)
		seq_printf(file, "%s %lld\n", oxfs_count_names[i], atomic64_read(&oxfs_counts[i]));
	for (i = 0; i < OXFS_OXK_COUNTS; i++)
		seq_printf(file, "oxk_%s %llu\n", oxfs_oxk_names[i], sum[i]);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(oxfs_counts);

void oxfs_counts_init(void)
{
	oxfs_debug = debugfs_create_dir("oxfs", NULL);
	debugfs_create_file("counts", 0400, oxfs_debug, NULL, &oxfs_counts_fops);
}

void oxfs_counts_exit(void)
{
	debugfs_remove_recursive(oxfs_debug);
}
