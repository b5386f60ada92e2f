//! Where ranks go: pure arithmetic from hosts, their slots and the way to map.
//!
//! More ranks than slots are allowed: another round begins, and `max_slots` alone is a limit. The
//! result is the host number of every rank; hosts that get none are not part of the job.

use super::{HOST_RANKS_MAX, Host, HostsError};

/// The order in which ranks are given to hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MapBy {
    /// The slots of the first host, then those of the second, and so on.
    #[default]
    Slot,
    /// One rank for every host in turn.
    Node,
    /// So many ranks for the first host, as many for the second, whatever their slots.
    PerHost(u32),
}

/// What a slot is as far as hosts go. Which part of its host a rank gets is said by `--bind-to`,
/// whose places go round and round.
const PARTS: [&str; 10] = [
    "slot", "hwthread", "core", "l1cache", "l2cache", "l3cache", "numa", "socket", "package",
    "board",
];

/// Modifiers of Open MPI's that ask for what happens anyway.
const HARMLESS: [&str; 5] = [
    "oversubscribe",
    "nooversubscribe",
    "hwtcpus",
    "corecpus",
    "inherit",
];

impl MapBy {
    /// From `node`, `slot`, a part of a host such as `core` or `socket`, or `ppr:N:node`; modifiers
    /// such as `:oversubscribe` change nothing here. `given` is what an error calls it.
    pub fn parse(text: &str, given: &str) -> Result<MapBy, HostsError> {
        let wrong = || HostsError::MapBy {
            given: format!("{given} {text}"),
        };
        let lower = text.to_ascii_lowercase();
        let words: Vec<&str> = lower.split(':').collect();
        let (map_by, modifiers) = match words.as_slice() {
            ["node", rest @ ..] => (MapBy::Node, rest),
            // Modifiers alone leave the way to map as it is.
            ["", rest @ ..] => (MapBy::Slot, rest),
            [word, rest @ ..] if PARTS.contains(word) => (MapBy::Slot, rest),
            ["ppr", count, "node", rest @ ..] => {
                let count = count.parse().ok().filter(|count| *count > 0);
                (MapBy::PerHost(count.ok_or_else(wrong)?), rest)
            }
            _ => return Err(wrong()),
        };
        match modifiers.iter().all(|word| HARMLESS.contains(word)) {
            true => Ok(map_by),
            false => Err(wrong()),
        }
    }
}

/// The ranks that fill all slots once.
pub(super) fn slots(hosts: &[Host], map_by: MapBy) -> u64 {
    hosts
        .iter()
        .map(|host| u64::from(turn(host, map_by).min(most(host))))
        .sum()
}

/// The host number of every rank.
pub(super) fn place(hosts: &[Host], map_by: MapBy, ranks: u32) -> Result<Vec<u32>, HostsError> {
    let mut counts = vec![0u32; hosts.len()];
    let mut placed = Vec::with_capacity(ranks as usize);
    // Mapping by node first fills slots one by one; when all are full, hosts are used beyond them
    // in turn.
    let mut beyond = false;
    while placed.len() < ranks as usize {
        let before = placed.len();
        for (index, host) in hosts.iter().enumerate() {
            let free = match (map_by, beyond) {
                (MapBy::Node, false) => turn(host, map_by).saturating_sub(counts[index]).min(1),
                (MapBy::Node, true) => 1,
                _ => turn(host, map_by),
            };
            let taken = free
                .min(most(host) - counts[index])
                .min(ranks - placed.len() as u32);
            counts[index] += taken;
            placed.extend((0..taken).map(|_| index as u32));
        }
        if placed.len() == before && (beyond || map_by != MapBy::Node) {
            return Err(full(hosts, ranks));
        }
        beyond |= placed.len() == before;
    }
    Ok(placed)
}

/// What a host takes before the next one has its turn.
fn turn(host: &Host, map_by: MapBy) -> u32 {
    match map_by {
        MapBy::Slot | MapBy::Node => host.slots,
        MapBy::PerHost(count) => count,
    }
}

fn most(host: &Host) -> u32 {
    host.slots_max.unwrap_or(u32::MAX).min(HOST_RANKS_MAX)
}

/// Nothing more goes anywhere: because somebody said so, or because ports are used up.
fn full(hosts: &[Host], ranks: u32) -> HostsError {
    let unlimited = hosts
        .iter()
        .find(|host| host.slots_max.is_none_or(|most| most > HOST_RANKS_MAX));
    match unlimited {
        Some(host) => HostsError::Crowded {
            name: host.name.clone(),
            ranks: ranks.div_ceil(hosts.len() as u32).max(HOST_RANKS_MAX + 1),
        },
        None => HostsError::Full {
            ranks,
            hosts: hosts.len(),
            places: hosts.iter().map(|host| u64::from(most(host))).sum(),
        },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hosts(text: &str) -> Vec<Host> {
        Host::list(text, "-host").unwrap()
    }

    fn placed(text: &str, map_by: MapBy, ranks: u32) -> Vec<u32> {
        place(&hosts(text), map_by, ranks).unwrap()
    }

    #[test]
    fn by_slot_and_round_again() {
        assert_eq!(placed("a:2,b:2", MapBy::Slot, 4), [0, 0, 1, 1]);
        assert_eq!(placed("a:2,b:2", MapBy::Slot, 3), [0, 0, 1]);
        assert_eq!(placed("a:2,b", MapBy::Slot, 7), [0, 0, 1, 0, 0, 1, 0]);
        assert_eq!(placed("a,b", MapBy::Slot, 4), [0, 1, 0, 1]);
    }

    #[test]
    fn by_node_takes_free_slots_first() {
        assert_eq!(placed("a:2,b:2", MapBy::Node, 4), [0, 1, 0, 1]);
        assert_eq!(placed("a:3,b:1", MapBy::Node, 4), [0, 1, 0, 0]);
        assert_eq!(placed("a:3,b:1", MapBy::Node, 6), [0, 1, 0, 0, 0, 1]);
    }

    #[test]
    fn per_host_ignores_slots() {
        assert_eq!(placed("a:9,b", MapBy::PerHost(2), 4), [0, 0, 1, 1]);
        assert_eq!(placed("a,b", MapBy::PerHost(2), 6), [0, 0, 1, 1, 0, 0]);
        assert_eq!(slots(&hosts("a:9,b"), MapBy::PerHost(2)), 4);
        assert_eq!(slots(&hosts("a:9,b"), MapBy::Node), 10);
    }

    #[test]
    fn limits_are_kept() {
        let mut limited = hosts("a:2,b:2");
        limited[1].slots_max = Some(3);
        let placed = place(&limited, MapBy::Slot, 9).unwrap();
        assert_eq!(placed, [0, 0, 1, 1, 0, 0, 1, 0, 0]);
        limited[0].slots_max = Some(2);
        for map_by in [MapBy::Slot, MapBy::Node, MapBy::PerHost(4)] {
            assert_eq!(
                place(&limited, map_by, 6).unwrap_err().to_string(),
                "6 ranks do not fit: max_slots of the 2 hosts add up to 5"
            );
        }
        assert_eq!(
            place(&hosts("a"), MapBy::Slot, 5000)
                .unwrap_err()
                .to_string(),
            "host a would get 5000 ranks and carries at most 4096: name more hosts (-host, -hostfile) or start fewer ranks"
        );
    }

    #[test]
    fn ways_to_map() {
        let parse = |text| MapBy::parse(text, "-map-by").map_err(|error| error.to_string());
        assert_eq!(parse("node"), Ok(MapBy::Node));
        assert_eq!(parse("slot"), Ok(MapBy::Slot));
        assert_eq!(parse("core:OVERSUBSCRIBE"), Ok(MapBy::Slot));
        assert_eq!(parse(":OVERSUBSCRIBE"), Ok(MapBy::Slot));
        assert_eq!(parse("socket:hwtcpus:inherit"), Ok(MapBy::Slot));
        assert_eq!(parse("ppr:4:node"), Ok(MapBy::PerHost(4)));
        for text in ["rack", "ppr", "ppr:0:node", "ppr:2:socket", "node:pe=2"] {
            let error = parse(text).unwrap_err();
            let expected =
                format!("-map-by {text}: expected node, slot, core, socket or ppr:N:node;");
            assert!(error.starts_with(&expected), "{error}");
        }
    }

    proptest! {
        #[test]
        fn every_rank_has_a_host(
            slots in proptest::collection::vec((1u32..9, proptest::option::of(1u32..9)), 1..9),
            ranks in 1u32..200,
            map_by in prop_oneof![Just(MapBy::Slot), Just(MapBy::Node), (1u32..9).prop_map(MapBy::PerHost)],
        ) {
            let host = |(slots, slots_max)| Host { name: "a".to_owned(), slots, slots_max };
            let hosts: Vec<Host> = slots.into_iter().map(host).collect();
            let places: u64 = hosts.iter().map(|host| u64::from(most(host))).sum();
            match place(&hosts, map_by, ranks) {
                Ok(placed) => {
                    prop_assert_eq!(placed.len(), ranks as usize);
                    for (index, host) in hosts.iter().enumerate() {
                        let count = placed.iter().filter(|place| **place == index as u32).count();
                        prop_assert!(count <= most(host) as usize);
                    }
                }
                Err(_) => prop_assert!(places < u64::from(ranks)),
            }
        }
    }
}
