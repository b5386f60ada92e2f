//! What belongs together among the usable CPUs, as the kernel tells in /sys.

use std::path::Path;

use super::BindTo;
use super::report::list;

const CPUS: &str = "/sys/devices/system/cpu";

/// The usable CPUs, each with the names of what it is part of.
pub(super) struct Topology {
    cpus: Vec<Cpu>,
}

struct Cpu {
    number: u32,
    core: String,
    cache: String,
    numa: String,
    socket: String,
}

impl Topology {
    pub(super) fn read(usable: &[u32]) -> Topology {
        Topology::read_in(Path::new(CPUS), usable)
    }

    /// A kernel that does not tell has one thread per core, and one of everything else, as far as
    /// can be known.
    fn read_in(folder: &Path, usable: &[u32]) -> Topology {
        let cpu = |&number: &u32| {
            let own = folder.join(format!("cpu{number}"));
            let text = |file: &str| {
                let text = std::fs::read_to_string(own.join(file));
                text.map(|text| text.trim().to_owned())
            };
            Cpu {
                number,
                core: text("topology/thread_siblings_list").unwrap_or(number.to_string()),
                cache: text("cache/index3/shared_cpu_list").unwrap_or_default(),
                numa: node_of(&own).unwrap_or_default(),
                socket: text("topology/physical_package_id").unwrap_or_default(),
            }
        };
        Topology {
            cpus: usable.iter().map(cpu).collect(),
        }
    }

    /// The CPUs of each place of one kind; the order is that of each place's first CPU.
    pub(super) fn groups(&self, kind: &BindTo) -> Vec<Vec<u32>> {
        let mut groups: Vec<(String, Vec<u32>)> = Vec::new();
        for cpu in &self.cpus {
            let key = match kind {
                BindTo::Core => cpu.core.clone(),
                BindTo::Cache => cpu.cache.clone(),
                BindTo::Numa => cpu.numa.clone(),
                BindTo::Socket => cpu.socket.clone(),
                BindTo::None | BindTo::Thread | BindTo::Places(_) => cpu.number.to_string(),
            };
            match groups.iter_mut().find(|group| group.0 == key) {
                Some(group) => group.1.push(cpu.number),
                None => groups.push((key, vec![cpu.number])),
            }
        }
        groups.into_iter().map(|group| group.1).collect()
    }

    /// Sockets in brackets, cores between strokes, B for a hardware thread in `bound`.
    pub(super) fn draw(&self, bound: &[u32]) -> String {
        let cores = self.groups(&BindTo::Core);
        let socket = |socket: Vec<u32>| {
            let cores = cores.iter().filter(|core| socket.contains(&core[0]));
            let threads = |core: &Vec<u32>| -> String {
                let mark = |cpu| if bound.contains(cpu) { 'B' } else { '.' };
                core.iter().map(mark).collect()
            };
            let cores: Vec<String> = cores.map(threads).collect();
            format!("[{}]", cores.join("/"))
        };
        let sockets = self.groups(&BindTo::Socket).into_iter().map(socket);
        format!("{} (CPUs {})", sockets.collect::<String>(), list(bound))
    }
}

/// The name of the memory node that a CPU's folder links to.
fn node_of(folder: &Path) -> Option<String> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.find(|name| {
        let number = name.strip_prefix("node");
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sockets of two cores with two threads each, numbered as Intel's machines do.
    fn machine() -> Topology {
        let cpu = |number: u32| Cpu {
            number,
            core: format!("{},{}", number % 4, number % 4 + 4),
            cache: (number % 4 / 2).to_string(),
            numa: String::new(),
            socket: (number % 4 / 2).to_string(),
        };
        Topology {
            cpus: (0..8).map(cpu).collect(),
        }
    }

    #[test]
    fn hardware_threads_of_a_core_stay_together() {
        let machine = machine();
        assert_eq!(machine.groups(&BindTo::Core)[1], [1, 5]);
        assert_eq!(machine.groups(&BindTo::Socket)[0], [0, 1, 4, 5]);
        assert_eq!(machine.groups(&BindTo::Cache)[1], [2, 3, 6, 7]);
        assert_eq!(machine.groups(&BindTo::Numa).len(), 1);
        assert_eq!(machine.groups(&BindTo::Thread).len(), 8);
    }

    #[test]
    fn a_picture_shows_sockets_cores_and_threads() {
        assert_eq!(machine().draw(&[1, 5, 2]), "[../BB][B./..] (CPUs 1-2,5)");
    }

    #[test]
    fn a_kernel_that_tells_nothing() {
        let bare = Topology::read_in(Path::new("/nonesuch"), &[0, 1]);
        assert_eq!(bare.groups(&BindTo::Core), [[0], [1]]);
        assert_eq!(bare.groups(&BindTo::Socket), [[0, 1]]);
    }
}
