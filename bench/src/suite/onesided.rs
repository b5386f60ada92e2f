//! One-sided operations beside what they must not be much slower than: bare memory accesses on one
//! host, round trips and streams of messages by a network.

use oxmpi_settings as settings;

use crate::figure::{Row, Target, Unit};
use crate::rank::{OneSided, Probe};
use crate::session::{BenchError, Session};

const NAME: &str = "onesided";

/// By UDP, and TCP, also between ranks of one host.
const UDP: &[(&str, &str)] = &[
    (settings::SHARED_MEMORY.name, "off"),
    (settings::NET.name, "udp"),
];
const TCP: &[(&str, &str)] = &[
    (settings::SHARED_MEMORY.name, "off"),
    (settings::NET.name, "tcp"),
];

/// What is measured: its name, what stands beside it on one host and by a network, and the ratio to
/// reach.
struct Figure {
    what: OneSided,
    name: &'static str,
    unit: Unit,
    beside: [&'static str; 2],
    goal: [Target; 2],
}

fn figures() -> Vec<Figure> {
    let most = Target::RatioAtMost;
    let least = Target::RatioAtLeast;
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
            [most(1.0), most(1e9)],
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

/// Everything between two ranks, and fences of 16.
pub fn run(session: &mut Session) -> Result<Vec<Row>, BenchError> {
    let mut rows = Vec::new();
    let ways: [(&str, &[(&str, &str)]); 3] = [("", &[]), (", udp", UDP), (", tcp", TCP)];
    for (at, (suffix, environment)) in ways.into_iter().enumerate() {
        let by_network = usize::from(at > 0);
        for figure in figures() {
            let name = format!("{}{suffix}", figure.name);
            let pairs = pairs(session, &name, 2, figure.what, environment)?;
            let mut row = Row::new(NAME, name, figure.unit, &pairs.values).on_floor(
                figure.beside[by_network],
                &pairs.values,
                &pairs.floors,
            );
            let is_goal = figure.what != OneSided::Locked || by_network == 0;
            if is_goal {
                row = row.aiming(figure.goal[by_network]);
            }
            rows.push(row);
        }
    }
    for ranks in [2, 16] {
        let name = format!("fence, {ranks} ranks");
        let pairs = pairs(session, &name, ranks, OneSided::Fence, &[])?;
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
    environment: &[(&str, &str)],
) -> Result<crate::session::Pairs, BenchError> {
    let repetitions = session.repetitions;
    session.pairs_of_jobs(&format!("{NAME} {name}"), repetitions, |session, _| {
        let time = session.repetition();
        let probe = Probe::OneSided { what, time };
        let (found, _) = session.job(ranks, &probe, environment)?;
        Ok((found[0], found[1]))
    })
}
