//! Which of the capabilities that something asks for this process lacks.
//!
//! Asked before anything else: the kernel says no more than "not permitted", at different calls.

/// A capability: its name, and its number in linux/capability.h.
pub(crate) type Capability = (&'static str, u32);

pub(crate) const CAP_NET_ADMIN: Capability = ("CAP_NET_ADMIN", 12);
pub(crate) const CAP_NET_RAW: Capability = ("CAP_NET_RAW", 13);
pub(crate) const CAP_BPF: Capability = ("CAP_BPF", 39);
/// Stands in for CAP_BPF.
const CAP_SYS_ADMIN: u32 = 21;

/// Those of `needed` that are missing, by name. Where /proc says nothing, none: the kernel will.
pub(crate) fn missing(needed: &[Capability]) -> Vec<&'static str> {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    effective(&status).map_or_else(Vec::new, |effective| missing_of(needed, effective))
}

/// The effective set, out of what /proc says of a thread.
fn effective(status: &str) -> Option<u64> {
    let set = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(set.trim(), 16).ok()
}

fn missing_of(needed: &[Capability], effective: u64) -> Vec<&'static str> {
    let has = |number: u32| effective & 1 << number != 0;
    let stands_in = |name: &str| name == "CAP_BPF" && has(CAP_SYS_ADMIN);
    needed
        .iter()
        .filter(|(name, number)| !has(*number) && !stands_in(name))
        .map(|(name, _)| *name)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing() {
        let needed = [CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF];
        let missing_of = |effective| missing_of(&needed, effective);
        let of = |line: &str| effective(&format!("Name:\tis\nCapEff:\t{line}\nSeccomp:\t0\n"));
        assert_eq!(of("000001ffffffffff").map(missing_of), Some(vec![]));
        assert_eq!(
            of("0000000000000000").map(missing_of),
            Some(vec!["CAP_NET_RAW", "CAP_NET_ADMIN", "CAP_BPF"])
        );
        assert_eq!(
            of("0000000000002000").map(missing_of),
            Some(vec!["CAP_NET_ADMIN", "CAP_BPF"])
        );
        assert_eq!(of("0000000000203000").map(missing_of), Some(vec![]));
        assert_eq!(of("nonsense"), None);
    }
}
