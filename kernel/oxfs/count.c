// SPDX-License-Identifier: GPL-2.0
/*
 * count.c: /sys/kernel/debug/oxfs/counts, a line "name value" for each counter of all mounts. What
 * oxk counts beside that (bytes copied, messages) is in its own file.
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

static int oxfs_counts_show(struct seq_file *file, void *unused)
{
	u32 i;

	for (i = 0; i < OXFS_COUNTS; i++)
		seq_printf(file, "%s %lld\n", oxfs_count_names[i], atomic64_read(&oxfs_counts[i]));
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
