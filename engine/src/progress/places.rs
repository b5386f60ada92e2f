//! Who is where: which processes share this host and through which port they are reached, and the
//! host of every process.

/// In place of a port: the process is on another host.
const ELSEWHERE: u32 = u32::MAX;

/// The places of a job's processes, as one of them sees them.
#[derive(Debug)]
pub(crate) struct Places {
    me: u32,
    /// The port of each process in this host's segment, or [`ELSEWHERE`].
    ports: Vec<u32>,
    /// The process in each port.
    processes: Vec<u32>,
    /// The host of each process; empty when there is only one.
    hosts: Vec<u32>,
    host_count: u32,
}

impl Places {
    /// Process `me` of `size`, all on this host.
    pub fn one_host(me: u32, size: u32) -> Places {
        Places {
            me,
            ports: (0..size).collect(),
            processes: (0..size).collect(),
            hosts: Vec::new(),
            host_count: 1,
        }
    }

    /// Process `me` of a job whose processes are on these hosts, numbered from 0 in the order in
    /// which they first appear. Ports follow the order of the processes. `apart`: even processes of
    /// one host talk as if they were on several.
    pub fn several_hosts(me: u32, mut hosts: Vec<u32>, apart: bool) -> Places {
        let here = hosts[me as usize];
        let on_this = |process: &u32| hosts[*process as usize] == here;
        let processes: Vec<u32> = (0..hosts.len() as u32).filter(on_this).collect();
        let mut ports = vec![ELSEWHERE; hosts.len()];
        for (port, process) in processes.iter().enumerate() {
            if !apart || *process == me {
                ports[*process as usize] = port as u32;
            }
        }
        if apart {
            hosts = (0..hosts.len() as u32).collect();
        }
        Places {
            me,
            ports,
            processes,
            host_count: hosts.iter().max().map_or(1, |last| last + 1),
            hosts,
        }
    }

    /// A process becomes known that is reached by the network; its number. It counts as alone on
    /// its host.
    pub fn add(&mut self) -> u32 {
        let process = self.ports.len() as u32;
        self.hosts.resize(process as usize, 0);
        self.ports.push(ELSEWHERE);
        self.hosts.push(self.host_count);
        self.host_count += 1;
        process
    }

    pub fn me(&self) -> u32 {
        self.me
    }

    /// All processes that are known.
    pub fn processes(&self) -> u32 {
        self.ports.len() as u32
    }

    /// Processes of this host.
    pub fn neighbours(&self) -> u32 {
        self.processes.len() as u32
    }

    /// Whether nobody else is reached through a port.
    pub fn is_alone_here(&self) -> bool {
        self.others().count() + 1 == self.ports.len()
    }

    /// The port of a process; `None` if it is on another host.
    #[inline(always)]
    pub fn port(&self, process: u32) -> Option<u32> {
        let port = self.ports[process as usize];
        (port != ELSEWHERE).then_some(port)
    }

    /// Whether a message for a receive from `from` (`None`: anybody) may come from another host.
    pub fn may_be_remote(&self, from: Option<u32>) -> bool {
        from.is_none_or(|from| self.port(from).is_none())
    }

    /// The process in a port.
    #[inline(always)]
    pub fn process(&self, port: u32) -> u32 {
        self.processes[port as usize]
    }

    /// The host of a process.
    pub fn host(&self, process: u32) -> u32 {
        self.hosts.get(process as usize).copied().unwrap_or(0)
    }

    /// How many hosts there are.
    pub fn host_count(&self) -> u32 {
        self.host_count
    }

    /// The processes of other hosts.
    pub fn others(&self) -> impl Iterator<Item = u32> {
        (0..self.ports.len() as u32).filter(|process| self.ports[*process as usize] == ELSEWHERE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_follow_the_order_of_processes() {
        let places = Places::several_hosts(3, vec![0, 1, 0, 1, 2], false);
        assert_eq!((places.port(1), places.port(3)), (Some(0), Some(1)));
        assert_eq!((places.port(0), places.port(4)), (None, None));
        assert_eq!((places.process(0), places.process(1)), (1, 3));
        assert_eq!((places.host_count(), places.neighbours()), (3, 2));
        assert_eq!(places.others().collect::<Vec<_>>(), [0, 2, 4]);
    }

    #[test]
    fn who_is_set_apart_has_nobody_in_its_ports() {
        let places = Places::several_hosts(1, vec![0, 0, 0], true);
        assert_eq!((places.port(0), places.port(1)), (None, Some(1)));
        assert_eq!((places.host_count(), places.neighbours()), (3, 3));
        assert_eq!(places.host(2), 2);
    }

    #[test]
    fn a_process_that_becomes_known_is_elsewhere() {
        let mut places = Places::several_hosts(1, vec![0, 1], false);
        assert_eq!(places.add(), 2);
        assert_eq!((places.port(2), places.host(2)), (None, 2));
        assert_eq!((places.port(1), places.processes()), (Some(0), 3));
        assert_eq!(places.others().collect::<Vec<_>>(), [0, 2]);
    }

    #[test]
    fn on_one_host_ports_are_processes() {
        let places = Places::one_host(1, 4);
        assert!((0..4).all(|process| places.port(process) == Some(process)));
        assert_eq!(places.others().count(), 0);
    }
}
