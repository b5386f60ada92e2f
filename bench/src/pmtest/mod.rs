//! `oxmpi pmtest`: the PM network between two processes, as PM/Ethernet's authors measured theirs.
//!
//! Latency and bandwidth by message size (the paper's figures 4 and 5), with interrupt reaping and
//! without, beside bare TCP between the same two; the parts of half a round trip (tables 3 and 4);
//! and the protocol's counters. `modes` runs the same protocol over mapped rings and over system
//! calls, through a `passage` in memory. `arguments` reads the command line, `rank::channel` measures inside
//! the two processes, and this file makes tables of it with `report`, as `oxmpi bench` does.

mod arguments;
pub(crate) mod modes;
mod passage;

use std::process::ExitCode;

use arguments::{Arguments, HELP};

use crate::figure::{Row, Target, Unit, size_name};
use crate::net::Net;
use crate::rank::Probe;
use crate::rank::channel::{COUNTERS, Figure, Plan, Wait};
use crate::report::{self, Machine, Report};
use crate::session::{BenchError, Session};

/// Message sizes: the paper's range.
pub(crate) const SIZES: [usize; 12] = [
    0,
    8,
    64,
    256,
    1 << 10,
    1400,
    4 << 10,
    16 << 10,
    64 << 10,
    256 << 10,
    512 << 10,
    1 << 20,
];
/// What is also measured by the bare mechanism.
pub(crate) const LONG: usize = 1 << 20;
/// What half a round trip is taken apart for.
pub(crate) const SHORT: usize = 8;

const LATENCY: &str = "latency";
const BANDWIDTH: &str = "bandwidth";
const BREAKDOWN: &str = "half a round trip of 8 B";
const COUNTED: &str = "counters";

/// Processes of one host take the network, too: loopback.
const THROUGH_THE_NETWORK: (&str, &str) = (oxmpi_settings::SHARED_MEMORY.name, "off");

/// Jobs of a full run, each of which measures everything once; a quick one has those of the
/// session.
const REPETITIONS_MAX: usize = 5;

/// Sleeping may look as good as reaping, or by chance a little better: its time, and its rate.
const AS_GOOD: f64 = 0.95;
const NO_BETTER: f64 = 1.05;

/// `oxmpi pmtest` with the words after it.
pub fn main(words: &[String]) -> ExitCode {
    let arguments = match Arguments::parse(words) {
        Ok(arguments) => arguments,
        Err(error) => return fail(&error, 2),
    };
    if arguments.help {
        print!("{HELP}");
        return ExitCode::SUCCESS;
    }
    let asked = !arguments.nets.is_empty();
    let nets = if asked {
        arguments.nets.clone()
    } else {
        vec![Net::Udp, Net::Ethernet]
    };
    if let Some(path) = &arguments.html
        && let Err(error) = report::html::check(path)
    {
        return fail(&format!("cannot write the page: {error}"), 1);
    }
    let mut session = Session::new(arguments.quick, nets);
    if arguments.modes {
        let rows = modes::run(&mut session);
        return conclude(session, &arguments, rows);
    }
    session.spread.hosts = arguments.hosts.clone();
    let steps = repetitions(&session) as u64;
    session.expect(steps * session.nets.len() as u64);
    let mut rows = Vec::new();
    for (done, net) in session.nets.clone().into_iter().enumerate() {
        session.reached(done as u64 * steps);
        match by(&mut session, net) {
            Ok(found) => rows.extend(found),
            Err(error) if asked => session.failed(&format!("pmtest by {}", net.name()), &error),
            // Not everybody may open packet sockets.
            Err(error) => session.left_out(net.name(), &error),
        }
    }
    let order = [LATENCY, BANDWIDTH, BREAKDOWN, COUNTED];
    rows.sort_by_key(|row: &Row| order.iter().position(|name| *name == row.bench));
    conclude(session, &arguments, rows)
}

/// Prints what was found, and says whether all of it was.
fn conclude(mut session: Session, arguments: &Arguments, rows: Vec<Row>) -> ExitCode {
    session.finish();
    let measured = !rows.is_empty();
    let report = Report {
        title: "oxmpi pmtest",
        version: env!("CARGO_PKG_VERSION"),
        machine: Machine::here(),
        transport: session.transport,
        quick: arguments.quick,
        notes: session.notes,
        rows,
    };
    if arguments.json {
        println!("{}", report.to_json());
    } else {
        print!("{}", report::table::render(&report));
    }
    if let Some(path) = &arguments.html
        && let Err(error) = report::html::write(path, &report)
    {
        return fail(&format!("cannot write the page: {error}"), 1);
    }
    if measured && session.failures == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn fail(error: &dyn std::fmt::Display, code: u8) -> ExitCode {
    eprintln!("oxmpi pmtest: {error}");
    ExitCode::from(code)
}

/// What is measured, in the order of a job. Neighbours are compared with each other, and change
/// their order from job to job.
fn figures(round: usize) -> Vec<Figure> {
    let mut figures = Vec::new();
    for bytes in SIZES {
        for streaming in [false, true] {
            let mut together: Vec<Figure> = [Wait::Reaping, Wait::Sleeping]
                .into_iter()
                .map(|wait| match streaming {
                    false => Figure::OneWay { bytes, wait },
                    true => Figure::Stream { bytes, wait },
                })
                .collect();
            // Neither carries messages of no bytes: a stream of them has no bandwidth, and TCP none
            // at all.
            match (bytes, streaming) {
                (0, true) => continue,
                (0, false) => {}
                (_, false) => together.push(Figure::TcpOneWay { bytes }),
                (_, true) => together.push(Figure::TcpStream { bytes }),
            }
            if (bytes, streaming) == (SHORT, false) {
                together.push(Figure::Mechanism { bytes });
                together.push(Figure::Protocol { bytes });
                together.push(Figure::TcpParts { bytes });
            }
            if (bytes, streaming) == (LONG, true) {
                together.push(Figure::BareStream { bytes });
            }
            let first = round % together.len();
            together.rotate_left(first);
            figures.extend(together);
        }
    }
    figures.push(Figure::Counters);
    figures
}

/// How often the job of a network is run.
fn repetitions(session: &Session) -> usize {
    session.repetitions.min(REPETITIONS_MAX)
}

/// Everything of one network, as rows.
fn by(session: &mut Session, net: Net) -> Result<Vec<Row>, BenchError> {
    let found = gather(session, net)?;
    let mut rows = found.by_size();
    rows.push(found.beside_mechanism());
    rows.extend(found.breakdown());
    rows.extend(found.counters());
    Ok(rows)
}

/// Everything of one network.
pub(crate) fn gather(session: &mut Session, net: Net) -> Result<Findings, BenchError> {
    let repetitions = repetitions(session);
    session.announce(format!("pmtest by {}", net.name()), repetitions);
    let mut environment = net.environment().to_vec();
    if !session.has_hosts() {
        environment.push(THROUGH_THE_NETWORK);
    }
    let mut rounds = Vec::new();
    // A job is long, and what is compared stands close together in it: none is thrown away because
    // the CPUs moved meanwhile.
    for round in 0..repetitions {
        let plan = Plan {
            net,
            figures: figures(round),
            time: session.repetition(),
        };
        let (values, _) = session.job(2, &Probe::Pm(plan.clone()), &environment)?;
        rounds.push(Round { plan, values });
        session.step();
    }
    Ok(Findings { net, rounds })
}

/// What one job found.
struct Round {
    plan: Plan,
    values: Vec<f64>,
}

impl Round {
    fn values(&self, wanted: Figure) -> &[f64] {
        let mut begin = 0;
        for figure in &self.plan.figures {
            let end = begin + figure.values();
            if *figure == wanted {
                return self.values.get(begin..end).unwrap_or(&[]);
            }
            begin = end;
        }
        &[]
    }
}

/// What all jobs of a network found.
pub(crate) struct Findings {
    pub(crate) net: Net,
    rounds: Vec<Round>,
}

impl Findings {
    /// One of a figure's numbers, in every job; nothing if it was not measured.
    pub(crate) fn values(&self, figure: Figure, index: usize) -> Vec<f64> {
        let value = |round: &Round| round.values(figure).get(index).copied();
        self.rounds.iter().filter_map(value).collect()
    }

    fn by_size(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for bytes in SIZES {
            let (wait, asleep) = (Wait::Reaping, Wait::Sleeping);
            rows.extend(self.of_size(
                (LATENCY, Unit::Nanoseconds, bytes),
                [
                    Figure::OneWay { bytes, wait },
                    Figure::OneWay {
                        bytes,
                        wait: asleep,
                    },
                    Figure::TcpOneWay { bytes },
                ],
                Target::RatioAtLeast(AS_GOOD),
            ));
            rows.extend(self.of_size(
                (BANDWIDTH, Unit::MegabytesPerSecond, bytes),
                [
                    Figure::Stream { bytes, wait },
                    Figure::Stream {
                        bytes,
                        wait: asleep,
                    },
                    Figure::TcpStream { bytes },
                ],
                Target::RatioAtMost(NO_BETTER),
            ));
        }
        rows
    }

    /// Reaping beside bare TCP, and sleeping beside reaping, which must not lose.
    fn of_size(
        &self,
        (bench, unit, bytes): (&'static str, Unit, usize),
        [reaping, sleeping, tcp]: [Figure; 3],
        target: Target,
    ) -> Vec<Row> {
        let (reaping, sleeping) = (self.values(reaping, 0), self.values(sleeping, 0));
        let tcp = self.values(tcp, 0);
        if reaping.is_empty() {
            return Vec::new();
        }
        let name = self.net.name();
        let size = size_name(bytes);
        let plotted = |row: Row, series: String| match bytes {
            // A logarithmic axis has no place for it.
            0 => row,
            _ => row.plotted(series, "bytes", bytes as f64),
        };
        let mut awake = Row::new(bench, format!("{size}, {name}"), unit, &reaping);
        if !tcp.is_empty() {
            awake = awake.on_floor("bare TCP", &reaping, &tcp);
        }
        let asleep = Row::new(bench, format!("{size}, {name}, sleeping"), unit, &sleeping)
            .on_floor("reaping", &sleeping, &reaping)
            .aiming(target);
        vec![
            plotted(awake, name.to_owned()),
            plotted(asleep, format!("{name}, sleeping")),
        ]
    }

    /// The longest stream beside the bare mechanism that carries it.
    fn beside_mechanism(&self) -> Row {
        let (bytes, wait) = (LONG, Wait::Reaping);
        let ours = self.values(Figure::Stream { bytes, wait }, 0);
        let bare = self.values(Figure::BareStream { bytes }, 0);
        let (floor, target) = match self.net {
            Net::Ethernet => ("bare frames", 0.85),
            _ => ("bare UDP", 0.8),
        };
        let name = format!("{}, {} beside {floor}", size_name(bytes), self.net.name());
        Row::new(BANDWIDTH, name, Unit::MegabytesPerSecond, &ours)
            .on_floor(floor, &ours, &bare)
            .aiming(Target::RatioAtLeast(target))
    }

    /// Where the time of half a round trip goes. The share of each part is its ratio to the whole.
    fn breakdown(&self) -> Vec<Row> {
        let (bytes, wait) = (SHORT, Wait::Reaping);
        let all = self.values(Figure::OneWay { bytes, wait }, 0);
        let mechanism = Figure::Mechanism { bytes };
        let [half, send, receive] = [0, 1, 2].map(|part| self.values(mechanism, part));
        let protocol = self.values(Figure::Protocol { bytes }, 0);
        let between = |round: usize| half[round] - send[round] - receive[round];
        let rest = |round: usize| all[round] - half[round] - protocol[round];
        let parts = [
            ("the system call that sends", send.clone()),
            (
                match self.net {
                    Net::Ethernet => "taking the frame out of the ring",
                    _ => "the system call that receives",
                },
                receive.clone(),
            ),
            (
                "the wire between the two calls",
                (0..half.len()).map(between).collect(),
            ),
            ("the protocol, both sides", protocol.clone()),
            (
                "the rest: channel, looks in vain, colder caches",
                (0..all.len()).map(rest).collect(),
            ),
        ];
        let name = self.net.name();
        let row = |part: &str, values: &[f64]| {
            Row::new(
                BREAKDOWN,
                format!("{part}, {name}"),
                Unit::Nanoseconds,
                values,
            )
        };
        let mut rows = vec![row("all", &all)];
        rows.extend(
            parts
                .iter()
                .map(|(part, values)| row(part, values).on_floor("of all", values, &all)),
        );
        rows
    }

    fn counters(&self) -> Vec<Row> {
        let row = |(index, (what, _)): (usize, &(&'static str, _))| {
            let values = self.values(Figure::Counters, index);
            let name = format!("{what}, {}", self.net.name());
            Row::new(COUNTED, name, Unit::Count, &values)
        };
        COUNTERS.iter().enumerate().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A job in which every figure is its place.
    fn round(number: usize) -> Round {
        let plan = Plan {
            net: Net::Udp,
            figures: figures(number),
            time: std::time::Duration::ZERO,
        };
        let count = plan.figures.iter().map(|figure| figure.values()).sum();
        let values = (1..=count).map(|value| value as f64).collect();
        Round { plan, values }
    }

    #[test]
    fn a_figures_numbers_are_found_whatever_the_order() {
        let rounds = [round(0), round(1)];
        assert_eq!(rounds[0].values(rounds[0].plan.figures[0]), [1.0]);
        assert_eq!(rounds[1].values(rounds[1].plan.figures[0]), [1.0]);
        let mechanism = Figure::Mechanism { bytes: SHORT };
        assert_eq!(rounds[0].values(mechanism).len(), 3);
        assert_ne!(rounds[0].values(mechanism), rounds[1].values(mechanism));
        assert_eq!(rounds[0].values(Figure::Counters).len(), COUNTERS.len());
        assert!(rounds[0].values(Figure::TcpOneWay { bytes: 3 }).is_empty());
    }

    #[test]
    fn every_size_has_rows_and_every_part_its_share() {
        let found = Findings {
            net: Net::Udp,
            rounds: vec![round(0), round(1), round(2)],
        };
        let rows = found.by_size();
        // No bandwidth of messages of no bytes.
        assert_eq!(rows.len(), 4 * SIZES.len() - 2);
        assert!(rows.iter().all(|row| row.value.repetitions == 3));
        assert_eq!(rows[0].name, "0 B, UDP");
        assert!(rows[0].floor.is_none() && rows[1].floor.is_some());
        assert_eq!(found.breakdown().len(), 6);
        assert!(found.beside_mechanism().met.is_some());
        assert_eq!(found.counters().len(), COUNTERS.len());
    }
}
