//! Which CPUs a rank is bound to.
//!
//! The r-th rank of a host gets the r-th *place*: a core, a hardware thread, a cache, a memory node
//! or a socket, several of them, or what a list says; after the last place comes the first again.
//! Places consist of usable CPUs alone, those of the launcher's affinity mask, so a container's or a
//! batch system's bounds are kept. Topology is read from /sys only when binding was asked for:
//! start-up scans no hardware.

mod report;
mod topology;

use std::io;

use serde::{Deserialize, Serialize};

use crate::sys;
pub(crate) use report::report;
use topology::Topology;

/// What the ranks of a host are bound to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bind {
    /// The kind of place.
    pub to: BindTo,
    /// How many of them a rank gets; 0 is 1.
    pub per_rank: u32,
    /// The only CPUs to use, of those that are usable; all of them without a list.
    pub cpus: Option<Vec<u32>>,
    /// Say of each rank where it runs.
    pub report: bool,
}

/// Kinds of places, from the smallest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum BindTo {
    /// Ranks run wherever the launcher may run.
    #[default]
    None,
    /// One hardware thread.
    Thread,
    /// A core with all its hardware threads.
    Core,
    /// The CPUs that share a third-level cache.
    Cache,
    /// The CPUs of a memory node.
    Numa,
    /// The CPUs of a socket.
    Socket,
    /// Places as the user names them.
    Places(Vec<Vec<u32>>),
}

impl Bind {
    /// One place of this kind for each rank.
    pub fn to(to: BindTo) -> Bind {
        Bind {
            to,
            ..Bind::default()
        }
    }

    /// From what people write behind `--bind-to`: `core`, `core:2`, `hwthread`, `l3`, `numa`,
    /// `socket`, `none`, `user:0+1,2+3`; the error says what was expected.
    pub fn parse(text: &str) -> Result<Bind, String> {
        let wrong = || {
            "expected none, hwthread, core, l3, numa, socket (each with :N for N of them), or \
             user:0+1,2+3"
                .to_owned()
        };
        let lower = text.to_ascii_lowercase();
        let (kind, rest) = lower.split_once(':').unwrap_or((&lower, ""));
        if kind == "user" {
            let places: Option<Vec<_>> =
                rest.split(',').map(|place| cpu_list(place, '+')).collect();
            return Ok(Bind::to(BindTo::Places(places.ok_or_else(wrong)?)));
        }
        let to = match kind {
            "none" | "no" | "off" => BindTo::None,
            "hwthread" | "thread" | "pu" => BindTo::Thread,
            "core" => BindTo::Core,
            "l3" | "l3cache" | "cache3" | "llc" => BindTo::Cache,
            "numa" => BindTo::Numa,
            "socket" | "package" => BindTo::Socket,
            _ => return Err(wrong()),
        };
        let per_rank = match rest {
            // Open MPI's words about more ranks than places, which are always allowed here.
            "" | "overload-allowed" | "no-overload" | "if-supported" => 0,
            count => count.parse().ok().filter(|n| *n > 0).ok_or_else(wrong)?,
        };
        Ok(Bind {
            per_rank,
            ..Bind::to(to)
        })
    }

    /// The CPUs of each place on this host; none where nothing is bound.
    pub(crate) fn places(&self) -> io::Result<Vec<Vec<u32>>> {
        if self.to == BindTo::None {
            return Ok(Vec::new());
        }
        let usable = self.usable()?;
        let places = match &self.to {
            BindTo::Places(places) => checked(places, &usable)?,
            kind => several(Topology::read(&usable).groups(kind), self.per_rank.max(1)),
        };
        Ok(places)
    }

    /// The CPUs that ranks may run on.
    pub(crate) fn usable(&self) -> io::Result<Vec<u32>> {
        let usable = sys::cpus_of(&sys::affinity()?);
        match &self.cpus {
            None => Ok(usable),
            Some(list) => Ok(checked(std::slice::from_ref(list), &usable)?.remove(0)),
        }
    }
}

/// A CPU that is not usable cannot be bound to: an error now, not a rank that fails to start.
fn checked(places: &[Vec<u32>], usable: &[u32]) -> io::Result<Vec<Vec<u32>>> {
    let strange = places.iter().flatten().find(|cpu| !usable.contains(cpu));
    match strange {
        None => Ok(places.to_vec()),
        Some(cpu) => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!(
                "CPU {cpu} is not usable here: usable are {}",
                report::list(usable)
            ),
        )),
    }
}

/// Places of `count` groups each; groups that are left over make no place of their own.
fn several(groups: Vec<Vec<u32>>, count: u32) -> Vec<Vec<u32>> {
    let count = (count as usize).min(groups.len()).max(1);
    groups.chunks_exact(count).map(<[_]>::concat).collect()
}

/// The CPUs of `0-3,8`, or with another sign between them; None if it is no such list.
pub fn cpu_list(text: &str, separator: char) -> Option<Vec<u32>> {
    const CPUS_MAX: u32 = libc::CPU_SETSIZE as u32;
    let mut cpus = Vec::new();
    for range in text.split(separator) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if last < first || last >= CPUS_MAX {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_other_launchers() {
        assert_eq!(Bind::parse("core"), Ok(Bind::to(BindTo::Core)));
        assert_eq!(Bind::parse("Core:overload-allowed"), Bind::parse("core"));
        assert_eq!(Bind::parse("core:2").unwrap().per_rank, 2);
        assert_eq!(Bind::parse("L3cache").unwrap().to, BindTo::Cache);
        assert_eq!(
            Bind::parse("user:0+1,2-3").unwrap().to,
            BindTo::Places(vec![vec![0, 1], vec![2, 3]])
        );
        for text in [
            "", "board", "core:0", "core:x", "user:", "user:a", "user:3-1",
        ] {
            let error = Bind::parse(text).unwrap_err();
            assert!(error.starts_with("expected none"), "{text}: {error}");
        }
    }

    #[test]
    fn places_of_several_groups() {
        let groups = vec![vec![0, 4], vec![1, 5], vec![2, 6]];
        assert_eq!(several(groups.clone(), 1), groups);
        assert_eq!(several(groups.clone(), 2), [[0, 4, 1, 5]]);
        assert_eq!(several(groups, 9), [[0, 4, 1, 5, 2, 6]]);
    }

    #[test]
    fn a_foreign_cpu_is_refused() {
        let error = checked(&[vec![0], vec![7]], &[0, 1, 3]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "CPU 7 is not usable here: usable are 0-1,3"
        );
    }

    #[test]
    fn every_kind_has_places_of_usable_cpus() {
        let usable = Bind::default().usable().unwrap();
        for kind in ["hwthread", "core", "l3", "numa", "socket"] {
            let places = Bind::parse(kind).unwrap().places().unwrap();
            let mut cpus = places.concat();
            cpus.sort_unstable();
            assert_eq!(cpus, usable, "{kind}");
        }
        assert!(Bind::default().places().unwrap().is_empty());
    }
}
