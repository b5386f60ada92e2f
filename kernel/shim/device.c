// SPDX-License-Identifier: GPL-2.0
/*
 * device.c: /dev/o2g, its file operations and requests. Each open file is a context of its own (context.c), and only the process
 * that opened it may use it: a descriptor that was inherited or passed on answers EPERM, because addresses in requests
 * are those of the first one.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/rcupdate.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <linux/vmalloc.h>

#include "o2g_shim.h"

atomic64_t o2g_pages_pinned_all;
atomic64_t o2g_sockets_all;
atomic64_t o2g_contexts_all;

static ushort mode = 0600;
module_param(mode, ushort, 0444);
MODULE_PARM_DESC(mode, "permissions of /dev/o2g (0600)");

static bool o2g_is_foreign(const struct o2g_context *context)
{
	return current->mm != context->mm;
}

static int o2g_device_open(struct inode *inode, struct file *file)
{
	struct o2g_context *context;

	if (!current->mm)
		return -EPERM;
	context = o2g_context_new();
	if (!context)
		return -ENOMEM;
	file->private_data = context;
	return stream_open(inode, file);
}

static int o2g_device_release(struct inode *inode, struct file *file)
{
	o2g_context_close(file->private_data);
	return 0;
}

static long o2g_ask_init(struct o2g_context *context, void __user *argument)
{
	struct o2g_init init;

	if (copy_from_user(&init, argument, sizeof(init)))
		return -EFAULT;
	return o2g_context_init(context, &init);
}

static long o2g_ask_register(struct o2g_context *context, void __user *argument)
{
	struct o2g_register wanted;

	if (copy_from_user(&wanted, argument, sizeof(wanted)))
		return -EFAULT;
	return o2g_socket_register(context, &wanted);
}

static long o2g_ask_dump_area(struct o2g_context *context, void __user *argument)
{
	struct o2g_dump_area dump;
	int error;

	if (copy_from_user(&dump, argument, sizeof(dump)))
		return -EFAULT;
	error = o2g_context_set_area(context, &dump);
	if (!error && copy_to_user(argument, &dump, sizeof(dump)))
		return -EFAULT;
	return error;
}

static long o2g_ask_put(struct o2g_context *context, void __user *argument)
{
	struct o2g_memory *memory = NULL, *released;
	struct o2g_entry entry;
	int error, may_go_on = 0;
	u32 slot;

	if (copy_from_user(&entry, argument, sizeof(entry)))
		return -EFAULT;
	slot = lower_32_bits(entry.cookie);
	if (slot >= context->n_entries || !READ_ONCE(context->area))
		return -EINVAL;
	if (!(entry.flags & O2G_NO_BUFFER)) {
		memory = o2g_memory_new(context, &entry);
		if (IS_ERR(memory))
			return PTR_ERR(memory);
	}
	spin_lock_bh(&context->lock);
	/* Whatever was in the slot before is taken out before something else is put there. */
	released = o2g_memory_take_released(context);
	if (context->n_waiting)
		may_go_on = o2g_core_free_to(context->core, entry.tail);
	error = o2g_core_put(context->core, &entry, !memory || o2g_memory_is_pinned(memory));
	if (!error)
		swap(context->memories[slot], memory);
	spin_unlock_bh(&context->lock);
	if (may_go_on > 0)
		o2g_dumpers_resume(context);
	o2g_context_watch(context);
	if (memory)
		memory->next = NULL;
	o2g_memory_free(context, memory);
	o2g_memory_free(context, released);
	o2g_regions_reap(context);
	return error;
}

static long o2g_ask_cancel(struct o2g_context *context, void __user *argument)
{
	u64 cookie;
	int error;

	if (copy_from_user(&cookie, argument, sizeof(cookie)))
		return -EFAULT;
	spin_lock_bh(&context->lock);
	error = o2g_core_cancel(context->core, cookie);
	spin_unlock_bh(&context->lock);
	o2g_memory_reap(context);
	return error;
}

static long o2g_ask_free(struct o2g_context *context, void __user *argument)
{
	int may_go_on;
	u64 tail;

	if (copy_from_user(&tail, argument, sizeof(tail)))
		return -EFAULT;
	if (!READ_ONCE(context->area))
		return -EINVAL;
	spin_lock_bh(&context->lock);
	may_go_on = o2g_core_free_to(context->core, tail);
	spin_unlock_bh(&context->lock);
	if (may_go_on > 0)
		o2g_dumpers_resume(context);
	o2g_memory_reap(context);
	return min(may_go_on, 0);
}

static long o2g_ask_counters(struct o2g_context *context, void __user *argument)
{
	struct o2g_counters counters = {};

	if (smp_load_acquire(&context->core)) {
		o2g_memory_reap(context);
		spin_lock_bh(&context->lock);
		o2g_core_count(context->core, &counters);
		spin_unlock_bh(&context->lock);
	}
	counters.wakeups = atomic64_read(&context->wakeups);
	counters.pages_pinned = atomic64_read(&context->pages_pinned);
	counters.pages_kept = atomic64_read(&context->pages_kept);
	counters.pins = atomic64_read(&context->pins);
	counters.pins_reused = atomic64_read(&context->pins_reused);
	counters.sockets = atomic64_read(&context->n_sockets);
	counters.pages_pinned_all = atomic64_read(&o2g_pages_pinned_all);
	counters.sockets_all = atomic64_read(&o2g_sockets_all);
	counters.contexts_all = atomic64_read(&o2g_contexts_all);
	return copy_to_user(argument, &counters, sizeof(counters)) ? -EFAULT : 0;
}

/* Requests that change what there is, one at a time. */
static long o2g_ask_change(struct o2g_context *context, unsigned int request, unsigned long argument)
{
	if (request == O2G_INIT)
		return o2g_ask_init(context, (void __user *)argument);
	if (!context->core)
		return -EINVAL;
	switch (request) {
	case O2G_REGISTER_SOCKET:
		return o2g_ask_register(context, (void __user *)argument);
	case O2G_FORGET_SOCKET:
		return argument > U32_MAX ? -ENOENT : o2g_socket_forget(context, argument);
	case O2G_SET_DUMP_AREA:
		return o2g_ask_dump_area(context, (void __user *)argument);
	case O2G_START_DUMPER_THREAD:
		return argument > U32_MAX ? -EINVAL : o2g_dumpers_start(context, argument);
	}
	return -ENOTTY;
}

static long o2g_device_ioctl(struct file *file, unsigned int request, unsigned long argument)
{
	struct o2g_context *context = file->private_data;
	void __user *at = (void __user *)argument;
	long answer;

	if (o2g_is_foreign(context))
		return -EPERM;
	switch (request) {
	case O2G_COUNTERS:
		return o2g_ask_counters(context, at);
	case O2G_GIVE_ANSWERS:
	case O2G_PUT_ENTRY:
	case O2G_CANCEL_ENTRY:
	case O2G_FREE_ENTRY:
		if (!smp_load_acquire(&context->core))
			return -EINVAL;
		break;
	}
	switch (request) {
	case O2G_PUT_ENTRY:
		return o2g_ask_put(context, at);
	case O2G_CANCEL_ENTRY:
		return o2g_ask_cancel(context, at);
	case O2G_FREE_ENTRY:
		return o2g_ask_free(context, at);
	case O2G_GIVE_ANSWERS:
		mod_delayed_work(system_unbound_wq, &context->answerer, 0);
		return 0;
	}
	if (mutex_lock_killable(&context->requests))
		return -EINTR;
	answer = o2g_ask_change(context, request, argument);
	mutex_unlock(&context->requests);
	return answer;
}

static int o2g_device_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct o2g_context *context = file->private_data;
	void *area = smp_load_acquire(&context->area);

	if (o2g_is_foreign(context))
		return -EPERM;
	if (!area || vma->vm_pgoff || !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	/* A child has no use for it. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_set(vma, VM_DONTCOPY);
#else
	vma->vm_flags |= VM_DONTCOPY;
#endif
	return remap_vmalloc_range(vma, area, 0);
}

static __poll_t o2g_device_poll(struct file *file, poll_table *table)
{
	struct o2g_context *context = file->private_data;
	bool readable;

	if (o2g_is_foreign(context) || !smp_load_acquire(&context->area))
		return EPOLLERR;
	poll_wait(file, &context->sleepers, table);
	spin_lock_bh(&context->lock);
	readable = o2g_core_is_readable(context->core);
	spin_unlock_bh(&context->lock);
	return readable ? EPOLLIN | EPOLLRDNORM : 0;
}

static const struct file_operations o2g_operations = {
	.owner = THIS_MODULE,
	.open = o2g_device_open,
	.release = o2g_device_release,
	.unlocked_ioctl = o2g_device_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = o2g_device_mmap,
	.poll = o2g_device_poll,
	.llseek = noop_llseek,
};

static struct miscdevice o2g_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "o2g",
	.fops = &o2g_operations,
};

static int __init o2g_module_init(void)
{
	o2g_device.mode = mode & 0777;
	return misc_register(&o2g_device);
}

static void __exit o2g_module_exit(void)
{
	misc_deregister(&o2g_device);
	/* Who lists sockets may be looking at the name of our upper layer. */
	synchronize_rcu();
	pr_info("o2g: left behind: %lld pages pinned, %lld sockets, %lld contexts\n", atomic64_read(&o2g_pages_pinned_all),
		atomic64_read(&o2g_sockets_all), atomic64_read(&o2g_contexts_all));
}

module_init(o2g_module_init);
module_exit(o2g_module_exit);
MODULE_LICENSE("GPL");
MODULE_AUTHOR("The OxMPI developers");
MODULE_DESCRIPTION("MPI's queues in TCP's protocol handler");
