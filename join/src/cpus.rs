//! How many CPUs a process may use.

/// The CPUs this process may use: the affinity mask, and the cgroup's CPU quota (v1 and v2) where
/// it is less.
pub fn usable_cpus() -> u32 {
    std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32)
}
