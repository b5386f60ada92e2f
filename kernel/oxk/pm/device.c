// SPDX-License-Identifier: GPL-2.0
/*
 * device.c: /dev/oxk-pm, its file operations and requests. An open file becomes a port once, by the
 * first OXKP_OPEN that succeeds.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "port.h"

atomic64_t oxkp_ports_all;

static ushort mode = 0600;
module_param(mode, ushort, 0444);
MODULE_PARM_DESC(mode, "permissions of /dev/oxk-pm (0600)");

struct oxkp_file {
	struct mutex lock;
	struct oxkp_port *port; /* set once */
};

static int oxkp_device_open(struct inode *inode, struct file *file)
{
	struct oxkp_file *it = kzalloc(sizeof(*it), GFP_KERNEL_ACCOUNT);

	if (!it)
		return -ENOMEM;
	mutex_init(&it->lock);
	file->private_data = it;
	return stream_open(inode, file);
}

static int oxkp_device_release(struct inode *inode, struct file *file)
{
	struct oxkp_file *it = file->private_data;

	if (it->port)
		oxkp_port_close(it->port);
	kfree(it);
	return 0;
}

/* Set once, so that nobody who reads it needs a lock. */
static struct oxkp_port *oxkp_port_of(struct file *file)
{
	struct oxkp_file *it = file->private_data;

	return smp_load_acquire(&it->port);
}

static int oxkp_device_mmap(struct file *file, struct vm_area_struct *memory)
{
	struct oxkp_port *port = oxkp_port_of(file);

	if (!port)
		return -ENOTCONN;
	if (!(memory->vm_flags & VM_SHARED))
		return -EINVAL;
	return remap_vmalloc_range(memory, port->area, memory->vm_pgoff);
}

static __poll_t oxkp_device_poll(struct file *file, poll_table *table)
{
	struct oxkp_port *port = oxkp_port_of(file);

	if (!port)
		return EPOLLHUP;
	poll_wait(file, &port->wait, table);
	return oxkp_has_something(port) ? EPOLLIN | EPOLLRDNORM : 0;
}

static long oxkp_ask_open(struct oxkp_file *it, void __user *argument)
{
	struct oxkp_port *port = NULL;
	struct oxkp_open how;
	long error;

	if (copy_from_user(&how, argument, sizeof(how)))
		return -EFAULT;
	if (mutex_lock_interruptible(&it->lock))
		return -ERESTARTSYS;
	error = it->port ? -EISCONN : oxkp_port_open(&how, &port);
	if (!error)
		smp_store_release(&it->port, port);
	mutex_unlock(&it->lock);
	return error;
}

static long oxkp_ask_connect(struct oxkp_port *port, void __user *argument)
{
	struct oxkp_connect to;
	int error;

	if (copy_from_user(&to, argument, sizeof(to)))
		return -EFAULT;
	if (to.bytes > OXKP_ADDRESS_BYTES)
		return -EINVAL;
	error = oxk_connect(port->endpoint, (const struct sockaddr *)to.address, to.bytes, &to.peer);
	if (error)
		return error;
	return copy_to_user(argument, &to, sizeof(to)) ? -EFAULT : 0;
}

static long oxkp_ask_news(struct oxkp_port *port, void __user *argument)
{
	struct oxkp_news news;
	int error = oxkp_next_news(port, &news);

	if (error)
		return error;
	return copy_to_user(argument, &news, sizeof(news)) ? -EFAULT : 0;
}

static long oxkp_ask_counts(struct oxkp_port *port, void __user *argument)
{
	struct oxk_counts of;
	struct oxkp_counts counts;

	oxk_count(port->endpoint, &of);
	counts = (struct oxkp_counts){
		.messages_sent = of.messages_sent,
		.messages_received = of.messages_received,
		.bytes_lent = of.bytes_lent,
		.bytes_copied = of.bytes_copied,
		.bytes_placed = of.bytes_placed,
		.bytes_kept = of.bytes_kept,
		.frames_sent = of.frames_sent,
		.frames_repeated = of.frames_repeated,
		.frames_received = of.frames_received,
		.frames_refused = of.frames_refused,
		.reaps = of.reaps,
		.reaps_over = of.reaps_over,
		.turns = atomic64_read(&port->turns),
		.sleeps = atomic64_read(&port->sleeps),
	};
	return copy_to_user(argument, &counts, sizeof(counts)) ? -EFAULT : 0;
}

static long oxkp_device_ioctl(struct file *file, unsigned int request, unsigned long argument)
{
	struct oxkp_port *port = oxkp_port_of(file);
	void __user *memory = (void __user *)argument;

	if (request == OXKP_OPEN)
		return oxkp_ask_open(file->private_data, memory);
	if (!port)
		return -ENOTCONN;
	switch (request) {
	case OXKP_CONNECT:
		return oxkp_ask_connect(port, memory);
	case OXKP_TURN:
		return oxkp_turn(port);
	case OXKP_WAIT:
		return oxkp_wait(port, min_t(unsigned long, argument, OXKP_WAIT_MS_MAX));
	case OXKP_NEWS:
		return oxkp_ask_news(port, memory);
	case OXKP_COUNTS:
		return oxkp_ask_counts(port, memory);
	}
	return -ENOTTY;
}

static const struct file_operations oxkp_operations = {
	.owner = THIS_MODULE,
	.open = oxkp_device_open,
	.release = oxkp_device_release,
	.mmap = oxkp_device_mmap,
	.unlocked_ioctl = oxkp_device_ioctl,
	.poll = oxkp_device_poll,
	.llseek = noop_llseek,
};

static struct miscdevice oxkp_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "oxk-pm",
	.fops = &oxkp_operations,
};

static int __init oxkp_module_init(void)
{
	oxkp_device.mode = mode & 0777;
	return misc_register(&oxkp_device);
}

static void __exit oxkp_module_exit(void)
{
	misc_deregister(&oxkp_device);
	pr_info("oxk_pm: left behind: %lld ports\n", atomic64_read(&oxkp_ports_all));
}

module_init(oxkp_module_init);
module_exit(oxkp_module_exit);
MODULE_LICENSE("GPL");
MODULE_AUTHOR("The OxMPI developers");
MODULE_DESCRIPTION("PM for processes: channels with mapped rings, over oxk");
