//! The cost of a program, for `--counts`: time, CPU time, switches of context, packets.
//!
//! Every program has the option; `oxmpi bench papers` reads the line. Ranks add up theirs, so the
//! line is one of the whole job. CPU time and switches are the kernel's own, of all threads that a
//! rank has when it ends; packets are those that came by a network.

use std::fs;
use std::time::Instant;

use oxmpi::op::{Max, Sum};
use oxmpi::{Mpi, Result};

/// The option.
pub(crate) const OPTION: &str = "--counts";

/// What had been spent at some moment.
pub(crate) struct Counts {
    began: Instant,
    cpu_ns: u64,
    switches: u64,
    packets: u64,
}

impl Counts {
    pub(crate) fn now(mpi: &Mpi) -> Counts {
        let mut counts = Counts {
            began: Instant::now(),
            cpu_ns: 0,
            switches: 0,
            packets: mpi.network_counters().map_or(0, |network| network.packets),
        };
        let tasks = fs::read_dir("/proc/self/task").into_iter().flatten();
        for task in tasks.flatten() {
            let read = |name| fs::read_to_string(task.path().join(name)).unwrap_or_default();
            counts.cpu_ns += ran_ns(&read("schedstat"));
            counts.switches += switched(&read("status"));
        }
        counts
    }

    /// The line for the job, which rank 0 gets; the others get nothing.
    pub(crate) fn since(&self, mpi: &Mpi) -> Result<Option<String>> {
        let now = Counts::now(mpi);
        let world = mpi.world();
        let mut seconds = [(now.began - self.began).as_secs_f64()];
        let mut sums = [
            now.cpu_ns.saturating_sub(self.cpu_ns),
            now.switches.saturating_sub(self.switches),
            now.packets.saturating_sub(self.packets),
        ];
        world.allreduce_in_place(&mut seconds, Max)?;
        world.allreduce_in_place(&mut sums, Sum)?;
        let [cpu_ns, switches, packets] = sums;
        Ok((world.rank() == 0).then(|| {
            format!(
                "{{\"ranks\":{},\"seconds\":{:.6},\"cpu_seconds\":{:.6},\"switches\":{switches},\
                 \"packets\":{packets}}}",
                world.size(),
                seconds[0],
                cpu_ns as f64 / 1e9
            )
        }))
    }
}

/// Nanoseconds on a CPU, the first of `schedstat`'s numbers; 0 where the kernel does not count.
fn ran_ns(text: &str) -> u64 {
    let first = text.split_whitespace().next();
    first.and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// Switches of context, voluntary or not, out of `status`.
fn switched(text: &str) -> u64 {
    let count = |line: &str| {
        let (name, count) = line.split_once(':')?;
        name.ends_with("voluntary_ctxt_switches")
            .then(|| count.trim().parse::<u64>().ok())?
    };
    text.lines().filter_map(count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_files_are_read() {
        assert_eq!(ran_ns("1234567 89 3\n"), 1_234_567);
        assert_eq!(ran_ns(""), 0);
        let status = "Name:\tpi\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t30\n";
        assert_eq!(switched(status), 42);
    }
}
