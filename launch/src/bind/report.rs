//! What `--report-bindings` says.

use std::io;

use super::Bind;
use super::topology::Topology;

/// A line for each rank of this host.
pub(crate) fn report(bind: &Bind, ranks: &[u32], places: &[Vec<u32>]) -> io::Result<Vec<String>> {
    let usable = Bind::default().usable()?;
    let topology = Topology::read(&usable);
    let allowed = bind.usable()?;
    let line = |(port, rank): (usize, &u32)| match places {
        [] if bind.cpus.is_none() => {
            format!("rank {rank} is not bound: CPUs {}", list(&usable))
        }
        [] => format!("rank {rank} is bound to {}", topology.draw(&allowed)),
        places => {
            let place = &places[port % places.len()];
            format!("rank {rank} is bound to {}", topology.draw(place))
        }
    };
    Ok(ranks.iter().enumerate().map(line).collect())
}

/// `0-3,8` for 0, 1, 2, 3 and 8, in whatever order they come.
pub(super) fn list(cpus: &[u32]) -> String {
    let mut sorted = cpus.to_vec();
    sorted.sort_unstable();
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for cpu in sorted {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 >= cpu => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let range = |(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_short() {
        assert_eq!(list(&[3, 0, 1, 8]), "0-1,3,8");
        assert_eq!(list(&[]), "");
    }

    #[test]
    fn every_rank_has_a_line() {
        let lines = report(&Bind::default(), &[4, 5], &[]).unwrap();
        assert!(
            lines[1].starts_with("rank 5 is not bound: CPUs "),
            "{lines:?}"
        );
        let bind = Bind::parse("core").unwrap();
        let lines = report(&bind, &[4, 5], &bind.places().unwrap()).unwrap();
        assert!(lines[0].starts_with("rank 4 is bound to ["), "{lines:?}");
    }
}
