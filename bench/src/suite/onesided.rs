//! One-sided operations beside what they must not be much slower than: bare memory accesses on one
//! host, round trips and streams of messages by a network.

use oxmpi_settings as settings;

use super::network;
use crate::figure::{Row, Target, Unit};
use crate::net::Net;
use crate::rank::{OneSided, Probe};
use crate::session::{BenchError, Session};

const NAME: &str = "onesided";

/// A way between two ranks.
struct Way {
    /// Behind the figure's name.
    suffix: String,
    environment: Vec<(&'static str, &'static str)>,
    between_hosts: bool,
    /// Not by shared memory.
    by_network: bool,
}

/// What is measured: its name, what stands beside it on one host and by a network, and the ratio to
/// reach.
struct Figure {
    what: OneSided,
    name: &'static str,
    unit: Unit,
    beside: [&'static str; 2],
    goal: [Option<Target>; 2],
}

fn figures() -> Vec<Figure> {
    let most = |ratio| Some(Target::RatioAtMost(ratio));
    let least = |ratio| Some(Target::RatioAtLeast(ratio));
    let figure = |what, name, unit, beside, goal| Figure {
        what,
        name,
        unit,
        beside,
        goal,
    };
    let (ns, round_trip) = (Unit::Nanoseconds, "round trip of messages");
    vec![
        figure(
            OneSided::Put,
            "8 B put + flush",
            ns,
            ["a store that the other sees", round_trip],
            [most(2.0), most(1.3)],
        ),
        figure(
            OneSided::Get,
            "8 B get + flush",
            ns,
            ["a load of what the other wrote", round_trip],
            [most(2.0), most(1.3)],
        ),
        figure(
            OneSided::Fetch,
            "8 B fetch_and_op",
            ns,
            ["an atomic addition", round_trip],
            [most(2.0), most(1.3)],
        ),
        figure(
            OneSided::Locked,
            "lock + put + unlock",
            ns,
            ["a microsecond"; 2],
            [most(1.0), None],
        ),
        figure(
            OneSided::Long,
            "1 MiB put",
            Unit::GigabytesPerSecond,
            ["memcpy", "stream of messages"],
            [least(0.95), least(1.0)],
        ),
        figure(
            OneSided::Rate,
            "64 puts + flush",
            Unit::MillionPerSecond,
            ["messages"; 2],
            [least(1.0), least(1.0)],
        ),
        figure(
            OneSided::Passive,
            "8 B put + flush, target computes",
            ns,
            ["target waits inside"; 2],
            [most(1.5), most(1.5)],
        ),
    ]
}

/// By shared memory, and by networks: each that there is between two hosts, or without hosts by
/// those that work over loopback.
fn ways(session: &mut Session) -> Result<Vec<Way>, BenchError> {
    let mut ways = vec![Way {
        suffix: String::new(),
        environment: Vec::new(),
        between_hosts: false,
        by_network: false,
    }];
    let between_hosts = session.has_hosts();
    let nets = match between_hosts {
        true => network::usable(session, NAME)?,
        false => {
            let nets = session.nets.iter().copied();
            nets.filter(|net| *net != Net::Ethernet).collect()
        }
    };
    ways.extend(nets.into_iter().map(|net| {
        let mut environment = net.environment().to_vec();
        let place = match between_hosts {
            true => "",
            false => {
                environment.push((settings::SHARED_MEMORY.name, "off"));
                " over loopback"
            }
        };
        Way {
            suffix: format!(", {}{place}", net.name()),
            environment,
            between_hosts,
            by_network: true,
        }
    }));
    Ok(ways)
}

/// Everything between two ranks, and fences of 16.
pub fn run(session: &mut Session) -> Result<Vec<Row>, BenchError> {
    let mut rows = Vec::new();
    let ways = ways(session)?;
    for way in &ways {
        let kind = usize::from(way.by_network);
        for figure in figures() {
            let name = format!("{}{}", figure.name, way.suffix);
            let pairs = pairs(session, &name, 2, figure.what, way)?;
            let row = Row::new(NAME, name, figure.unit, &pairs.values);
            rows.push(match figure.goal[kind] {
                Some(goal) => row
                    .on_floor(figure.beside[kind], &pairs.values, &pairs.floors)
                    .aiming(goal),
                None => row,
            });
        }
    }
    for ranks in [2, 16] {
        let name = format!("fence, {ranks} ranks");
        let pairs = pairs(session, &name, ranks, OneSided::Fence, &ways[0])?;
        let row = Row::new(NAME, name, Unit::Microseconds, &pairs.values)
            .on_floor("barrier", &pairs.values, &pairs.floors)
            .aiming(Target::RatioAtMost(1.3));
        rows.push(row);
    }
    Ok(rows)
}

fn pairs(
    session: &mut Session,
    name: &str,
    ranks: u32,
    what: OneSided,
    way: &Way,
) -> Result<crate::session::Pairs, BenchError> {
    let repetitions = session.repetitions;
    session.pairs_of_jobs(&format!("{NAME} {name}"), repetitions, |session, _| {
        let probe = Probe::OneSided {
            what,
            between_hosts: way.between_hosts,
            time: session.repetition(),
        };
        let (found, _) = session.job(ranks, &probe, &way.environment)?;
        Ok((found[0], found[1]))
    })
}
