//! What a process has learned about copying on its machine: it times some of its own copies, and
//! goes on with the faster method. Sizes are not learned: they follow from the memory that the
//! launcher has given, and docs/benchmarks.md says why they are what they are.

use std::fmt;

use oxmpi_ports::filling;

use super::handler::Handler;
use super::rates::Rates;
use crate::protocol::Limits;

/// What was learned so far, for people.
#[derive(Debug, Clone, PartialEq)]
pub struct Learned {
    sizes: String,
    filling: Vec<Lengths>,
    draining: Vec<Lengths>,
    long: Long,
}

/// Nanoseconds per KiB of copies over so many bytes: by a loop over vector registers, and by the
/// processor's own instruction.
type Lengths = (usize, [Option<f64>; 2]);

/// Long messages, which are offered first.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Long {
    /// They may not be fetched out of the sender's memory.
    Streamed,
    /// Nanoseconds per KiB of a fetch and of a copy out of the ring, and whether they are fetched.
    Timed {
        fetch: Option<f32>,
        copy: Option<f32>,
        fetched: bool,
    },
}

impl Learned {
    fn of(limits: &Limits, rates: &Rates, may_fetch: bool) -> Learned {
        let long = match may_fetch {
            false => Long::Streamed,
            true => {
                let (fetch, copy) = rates.costs();
                Long::Timed {
                    fetch,
                    copy,
                    fetched: rates.prefers_fetch(),
                }
            }
        };
        Learned {
            sizes: limits.tell(),
            filling: filling::learned().collect(),
            draining: filling::learned_of_draining().collect(),
            long,
        }
    }

    /// Name and value of each thing that was learned, and the sizes.
    pub fn rows(&self) -> [(&'static str, String); 4] {
        [
            ("sizes, not learned", self.sizes.clone()),
            ("copies to shared memory", methods(&self.filling)),
            ("copies out of it", methods(&self.draining)),
            ("long messages", self.long.to_string()),
        ]
    }
}

impl Handler {
    /// What this process has learned so far.
    pub fn learned(&self) -> Learned {
        let limits = self.protocol.limits();
        Learned::of(limits, self.memory.rates(), self.memory.single_copy)
    }
}

/// The method of each class of lengths, and what both cost.
fn methods(lengths: &[Lengths]) -> String {
    let known = lengths.iter().filter_map(|(least, costs)| {
        let [vector, string] = (*costs).map(|cost| cost.unwrap_or(f64::INFINITY));
        let (method, other) = match string < vector {
            true => ("rep movsb", "vector registers"),
            false => ("vector registers", "rep movsb"),
        };
        let (cost, beside) = (vector.min(string), vector.max(string));
        let beside = match beside.is_finite() {
            true => format!("; {other} {beside:.0}"),
            false => String::new(),
        };
        let kib = least >> 10;
        let told = format!("over {kib} KiB {method} ({cost:.0} ns per KiB{beside})");
        cost.is_finite().then_some(told)
    });
    let known: Vec<String> = known.collect();
    match known.is_empty() {
        true => "vector registers, nothing was timed".to_owned(),
        false => known.join(", "),
    }
}

impl fmt::Display for Long {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Long::Timed {
            fetch,
            copy,
            fetched,
        } = self
        else {
            return formatter.write_str("through the ring; process_vm_readv is switched off");
        };
        let cost = |cost: &Option<f32>| match cost {
            Some(cost) => format!("{:.0} ns per KiB", cost * 1024.0),
            None => "not timed".to_owned(),
        };
        let way = match fetched {
            true => "by process_vm_readv",
            false => "through the ring",
        };
        write!(
            formatter,
            "{way} (process_vm_readv {}, a copy out of the ring {})",
            cost(fetch),
            cost(copy)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        Limits {
            eager_bytes_max: 64 << 10,
            copied_bytes_max: u64::MAX,
            room_bytes: 1 << 20,
            reserved_bytes: 0,
            kept_bytes_max: 1 << 20,
            fragment_bytes: 64 << 10,
            fragment_bytes_short: 16 << 10,
            short_bytes_max: 64 << 10,
            fetch_bytes_min: 32 << 10,
            unexpected_max: 1 << 24,
        }
    }

    #[test]
    fn sizes_are_told() {
        assert_eq!(
            limits().tell(),
            "messages up to 64 KiB leave at once, in pieces of 8 to 16 KiB; longer ones are offered, \
             and their pieces have up to 64 KiB"
        );
    }

    #[test]
    fn the_faster_method_is_named_with_what_both_cost() {
        let lengths = [
            (1024, [Some(30.0), Some(90.4)]),
            (4096, [Some(41.0), Some(28.0)]),
            (16384, [None, None]),
        ];
        assert_eq!(
            methods(&lengths),
            "over 1 KiB vector registers (30 ns per KiB; rep movsb 90), over 4 KiB rep movsb (28 ns \
             per KiB; vector registers 41)"
        );
        assert_eq!(methods(&[]), "vector registers, nothing was timed");
    }

    #[test]
    fn long_messages_go_the_way_that_was_cheaper() {
        let mut rates = Rates::new(false);
        let way = |rates: &Rates, may| Learned::of(&limits(), rates, may).rows()[3].1.clone();
        assert!(
            way(&rates, true)
                .ends_with("(process_vm_readv not timed, a copy out of the ring not timed)")
        );
        rates.observe_fetch(1 << 20, std::time::Duration::from_micros(100));
        rates.observe_copy(1 << 20, std::time::Duration::from_micros(50));
        assert_eq!(
            way(&rates, true),
            "through the ring (process_vm_readv 98 ns per KiB, a copy out of the ring 49 ns per KiB)"
        );
        assert_eq!(
            way(&rates, false),
            "through the ring; process_vm_readv is switched off"
        );
    }
}
