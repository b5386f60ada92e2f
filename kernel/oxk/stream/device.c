// SPDX-License-Identifier: GPL-2.0
/*
 * device.c: /dev/oxk-stream, its file operations and requests. An open file becomes a listener or a
 * stream once, by the first request that succeeds.
 */
#include <linux/anon_inodes.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "stream.h"

atomic64_t oxks_streams_all;
atomic64_t oxks_ports_all;
/* Its work items may be running when the last file is closed; unloading waits for them. */
struct workqueue_struct *oxks_queue;

static ushort mode = 0600;
module_param(mode, ushort, 0444);
MODULE_PARM_DESC(mode, "permissions of /dev/oxk-stream (0600)");

static struct oxks_file *oxks_file_new(void)
{
	struct oxks_file *it = kzalloc(sizeof(*it), GFP_KERNEL_ACCOUNT);

	if (it)
		mutex_init(&it->lock);
	return it;
}

static int oxks_device_open(struct inode *inode, struct file *file)
{
	file->private_data = oxks_file_new();
	return file->private_data ? stream_open(inode, file) : -ENOMEM;
}

static int oxks_device_release(struct inode *inode, struct file *file)
{
	struct oxks_file *it = file->private_data;

	if (it->stream)
		oxks_stream_close(it->stream);
	if (it->port)
		oxks_port_close(it->port);
	kfree(it);
	return 0;
}

/* Set once, so that nobody who reads it needs a lock. */
static struct oxks_stream *oxks_stream_of(struct file *file)
{
	struct oxks_file *it = file->private_data;

	return smp_load_acquire(&it->stream);
}

static bool oxks_waits(const struct file *file)
{
	return !(file->f_flags & O_NONBLOCK);
}

static ssize_t oxks_device_read(struct file *file, char __user *to, size_t bytes, loff_t *position)
{
	struct oxks_stream *stream = oxks_stream_of(file);

	return stream ? oxks_read(stream, to, bytes, oxks_waits(file)) : -ENOTCONN;
}

static ssize_t oxks_device_write(struct file *file, const char __user *from, size_t bytes,
		loff_t *position)
{
	struct oxks_stream *stream = oxks_stream_of(file);

	return stream ? oxks_write(stream, from, bytes, oxks_waits(file)) : -ENOTCONN;
}

static __poll_t oxks_device_poll(struct file *file, poll_table *table)
{
	struct oxks_file *it = file->private_data;
	struct oxks_stream *stream = oxks_stream_of(file);
	struct oxks_port *port = smp_load_acquire(&it->port);

	if (stream) {
		poll_wait(file, &stream->wait, table);
		return oxks_state(stream);
	}
	if (!port)
		return EPOLLHUP;
	poll_wait(file, &port->wait, table);
	return oxks_has_ready(port) ? EPOLLIN | EPOLLRDNORM : 0;
}

static long oxks_become(struct oxks_file *it, unsigned int request, void __user *argument)
{
	struct oxks_stream *stream = NULL;
	struct oxks_address address;
	struct oxks_port *port = NULL;
	long error;

	if (copy_from_user(&address, argument, sizeof(address)))
		return -EFAULT;
	if (mutex_lock_interruptible(&it->lock))
		return -ERESTARTSYS;
	if (it->stream || it->port)
		error = -EISCONN;
	else if (request == OXKS_LISTEN)
		error = oxks_listen(&address, &port);
	else
		error = oxks_connect(&address, &stream);
	if (!error) {
		smp_store_release(&it->port, port);
		smp_store_release(&it->stream, stream);
	}
	mutex_unlock(&it->lock);
	return error;
}

static long oxks_ask_accept(struct file *file, unsigned long flags)
{
	struct oxks_file *it = file->private_data, *accepted;
	struct oxks_port *port = smp_load_acquire(&it->port);
	int fd;

	if (!port)
		return -EINVAL;
	if (flags & ~(unsigned long)O_NONBLOCK)
		return -EINVAL;
	accepted = oxks_file_new();
	if (!accepted)
		return -ENOMEM;
	fd = oxks_accept(port, oxks_waits(file), &accepted->stream);
	if (!fd)
		fd = anon_inode_getfd("[oxk-stream]", &oxks_operations, accepted,
				O_RDWR | O_CLOEXEC | (int)flags);
	if (fd < 0) {
		if (accepted->stream)
			oxks_stream_close(accepted->stream);
		kfree(accepted);
	}
	return fd;
}

static long oxks_ask_counts(struct oxks_stream *stream, void __user *argument)
{
	struct oxks_counts counts = {
		.reads = atomic64_read(&stream->reads),
		.writes = atomic64_read(&stream->writes),
		.bytes_read = atomic64_read(&stream->bytes_read),
		.bytes_written = atomic64_read(&stream->bytes_written),
		.bytes_copied = atomic64_read(&stream->bytes_copied),
		.pages_pinned = atomic64_read(&stream->pages_pinned),
		.wakeups = atomic64_read(&stream->wakeups),
	};

	return copy_to_user(argument, &counts, sizeof(counts)) ? -EFAULT : 0;
}

static long oxks_device_ioctl(struct file *file, unsigned int request, unsigned long argument)
{
	struct oxks_stream *stream = oxks_stream_of(file);

	switch (request) {
	case OXKS_LISTEN:
	case OXKS_CONNECT:
		return oxks_become(file->private_data, request, (void __user *)argument);
	case OXKS_ACCEPT:
		return oxks_ask_accept(file, argument);
	case OXKS_SHUTDOWN:
		return stream ? oxks_shutdown(stream) : -ENOTCONN;
	case OXKS_COUNTS:
		return stream ? oxks_ask_counts(stream, (void __user *)argument) : -ENOTCONN;
	}
	return -ENOTTY;
}

const struct file_operations oxks_operations = {
	.owner = THIS_MODULE,
	.open = oxks_device_open,
	.release = oxks_device_release,
	.read = oxks_device_read,
	.write = oxks_device_write,
	.unlocked_ioctl = oxks_device_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.poll = oxks_device_poll,
	.llseek = noop_llseek,
};

static struct miscdevice oxks_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "oxk-stream",
	.fops = &oxks_operations,
};

static int __init oxks_module_init(void)
{
	int error;

	oxks_queue = alloc_workqueue("oxk_stream", WQ_UNBOUND, 0);
	if (!oxks_queue)
		return -ENOMEM;
	oxks_device.mode = mode & 0777;
	error = misc_register(&oxks_device);
	if (error)
		destroy_workqueue(oxks_queue);
	return error;
}

static void __exit oxks_module_exit(void)
{
	misc_deregister(&oxks_device);
	destroy_workqueue(oxks_queue);
	pr_info("oxk_stream: left behind: %lld streams, %lld ports\n", atomic64_read(&oxks_streams_all),
		atomic64_read(&oxks_ports_all));
}

module_init(oxks_module_init);
module_exit(oxks_module_exit);
MODULE_LICENSE("GPL");
MODULE_AUTHOR("The OxMPI developers");
MODULE_DESCRIPTION("Streams of bytes over oxk, without copies");
